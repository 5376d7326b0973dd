"""alternate.py LINES [STATUS] - prints numbered lines, by turns to stdout and stderr, then ends with STATUS."""

import os
import sys

for i in range(1, int(sys.argv[1]) + 1):
    os.write(1 + i % 2, f"line {i}\n".encode())
sys.exit(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
