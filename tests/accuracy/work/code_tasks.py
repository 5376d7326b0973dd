"""code_tasks SECONDS - asyncio tasks with names, of which one works three times as much as the other, at the end of
a chain of coroutines that await each other. Tells the CPU time of each."""

import asyncio
import sys
import time

used = {"often": 0.0, "seldom": 0.0}


async def at_work(name):
    start = time.thread_time()
    number = 1
    for _ in range(20000):
        number = number * 5 & 0xFFFF
    used[name] += time.thread_time() - start


async def middle(name):
    await asyncio.sleep(0)
    await at_work(name)


async def outermost(name, end):
    while sum(used.values()) < end:
        if name == "seldom" and used["seldom"] * 3 > used["often"]:
            await asyncio.sleep(0)
        else:
            await middle(name)


async def main():
    tasks = [asyncio.ensure_future(outermost(name, float(sys.argv[1]))) for name in used]
    for task, name in zip(tasks, used):
        task.set_name(name)
    await asyncio.gather(*tasks)


asyncio.run(main())
for which, seconds in used.items():
    print(f"truth {which}_s", seconds)
print("truth cpu_s", time.process_time())
