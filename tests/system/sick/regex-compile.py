# args: --cpu
"""A pattern is made anew for every line."""

import re
import time


def match(line, number):
    return re.match(rf"^(\w+)\s+{number}\s*=\s*(\d+|\w+)$", line)


def main():
    number = 0
    end = time.process_time() + 1
    while time.process_time() < end:
        number += 1
        match(f"key {number} = value", number)


main()
