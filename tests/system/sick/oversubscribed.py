# Many more computing processes than any small machine has cores.
import os
import time

end = time.monotonic() + 0.8
children = []
for _ in range(6 * os.cpu_count()):
    child = os.fork()
    if child == 0:
        while time.monotonic() < end:
            sum(range(1000))
        os._exit(0)
    children.append(child)
for child in children:
    os.waitpid(child, 0)
