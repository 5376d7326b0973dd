"""meet.py MINE OTHER - makes the file MINE and waits for OTHER: ends only where both run at the same time."""

import os
import sys
import time

mine, other = sys.argv[1:3]
with open(mine, "w", encoding="ascii"):
    pass
end = time.monotonic() + float(os.environ.get("PATIENCE_S", "60"))
while not os.path.exists(other):
    if time.monotonic() > end:
        sys.exit(f"nobody made {other}")
    time.sleep(0.005)
