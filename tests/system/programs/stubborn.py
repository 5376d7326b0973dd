"""stubborn.py READY - ignores SIGINT, SIGTERM and SIGHUP, makes the file READY, and never ends by itself."""

import signal
import sys

for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
with open(sys.argv[1], "w", encoding="ascii"):
    pass
while True:
    signal.pause()
