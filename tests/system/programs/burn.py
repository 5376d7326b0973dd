"""burn.py SECONDS - uses that much CPU time, no matter how long that takes."""

import sys
import time

while time.process_time() < float(sys.argv[1]):
    pass
