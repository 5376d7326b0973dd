# Takes its memory once and keeps computing in it.
import array

cells = array.array("d", bytes(8 * 10_000_000))
for turn in range(3):
    for i in range(0, len(cells), 16):
        cells[i] += turn
