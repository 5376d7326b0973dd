# args: --cpu
"""Nearly everything is one function, and what it does is native code."""

import hashlib
import time


def fingerprint(block):
    return hashlib.sha256(block).hexdigest()


def main():
    block = bytes(1 << 20)
    end = time.process_time() + 1
    while time.process_time() < end:
        fingerprint(block)


main()
