# args: --cpu
"""Rows are turned into text and back, as between two processes that could share them."""

import json
import time


def rows(count):
    return [{"id": i, "name": f"row {i}", "values": [i, i + 0.5, None]} for i in range(count)]


def main():
    table = rows(2000)
    end = time.process_time() + 1
    while time.process_time() < end:
        table = json.loads(json.dumps(table))


main()
