"""daemonise.py PIDFILE [burn SECONDS] - leaves the session with a double fork, as a daemon does.

The daemon writes its number into PIDFILE and then uses CPU time, or, without "burn", sleeps until it is killed. The first
process ends only when PIDFILE is there.
"""

import os
import signal
import sys
import time

pidfile = sys.argv[1]
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    for number in (0, 1, 2):
        os.close(number)
    os.open("/dev/null", os.O_RDWR)
    with open(pidfile + ".part", "w", encoding="ascii") as file:
        file.write(str(os.getpid()))
    os.rename(pidfile + ".part", pidfile)
    if len(sys.argv) > 2:
        end = time.process_time() + float(sys.argv[3])
        while time.process_time() < end:
            pass
        os._exit(0)
    while True:
        signal.pause()
os.wait()
while not os.path.exists(pidfile):
    time.sleep(0.005)
