# Forces every piece to disk by itself, and waits for it.
import os
import time

end = time.monotonic() + 0.9
file = os.open("journal", os.O_CREAT | os.O_WRONLY, 0o600)
while time.monotonic() < end:
    os.write(file, b"x" * (2 << 20))
    os.fsync(file)
    os.lseek(file, 0, os.SEEK_SET)
