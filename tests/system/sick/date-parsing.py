# args: --cpu
"""A column of dates is read one by one."""

import time
from datetime import datetime


def column(count):
    return [f"2024-{1 + i % 12:02d}-{1 + i % 28:02d} 12:{i % 60:02d}:00" for i in range(count)]


def main():
    texts = column(5000)
    end = time.process_time() + 1
    while time.process_time() < end:
        [datetime.strptime(text, "%Y-%m-%d %H:%M:%S") for text in texts]


main()
