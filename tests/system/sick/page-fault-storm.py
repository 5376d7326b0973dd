# Allocates a large buffer anew in each turn, and hands it back.
import time

end = time.monotonic() + 0.7
while time.monotonic() < end:
    b"x" * (32 << 20)
