"""psutil_poll.py INTERVAL COMMAND... - the usual loop: every INTERVAL seconds the CPU time and memory of a process and
its descendants, added up. Prints what such a loop believes at the end."""

import subprocess
import sys
import time

import psutil


def main():
    interval = float(sys.argv[1])
    with subprocess.Popen(sys.argv[2:], stdout=subprocess.DEVNULL) as child:
        root = psutil.Process(child.pid)
        cpu, peak = {}, 0
        while child.poll() is None:
            memory = 0
            try:
                family = [root, *root.children(recursive=True)]
            except psutil.Error:
                family = []
            for process in family:
                try:
                    times = process.cpu_times()
                    cpu[process.pid, process.create_time()] = times.user + times.system
                    memory += process.memory_info().rss
                except psutil.Error:
                    continue
            peak = max(peak, memory)
            time.sleep(interval)
    print(f"seen {sum(cpu.values()):.6f}")
    print(f"peak {peak}")
    print(f"processes {len(cpu)}")


main()
