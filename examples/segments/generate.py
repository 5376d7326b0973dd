"""Makes the chunks of a volume: one JSON file per chunk, the segment and the brightness of each of its voxels.

Segments are bodies that stretch over several neighbouring chunks, each with a brightness of its own; its voxels draw from
READINGS readings around it. The same seed makes the same files.
"""

import argparse
import os
import random
import shutil

READINGS = 256
NEAR = 12  # segments that touch a chunk


def write_chunk(path, number, options, readings):
    rng = random.Random(f"{options.seed}/{number}")
    first = number * options.segments // options.chunks
    near = [(first + offset) % options.segments for offset in range(NEAR)]
    ids = rng.choices(near, k=options.voxels)
    picks = rng.choices(range(READINGS), k=options.voxels)
    values = [readings[segment][pick] for segment, pick in zip(ids, picks)]
    segments = ", ".join([str(segment + 1) for segment in ids])
    with open(path, "w", encoding="ascii") as file:
        file.write(f'{{"chunk": {number}, "segment": [{segments}], "value": [{", ".join(values)}]}}\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chunks", type=int, default=2000)
    parser.add_argument("--voxels", type=int, default=2500, help="in a chunk")
    parser.add_argument("--segments", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("out", help="folder for the chunks; made anew")
    options = parser.parse_args()
    shutil.rmtree(options.out, ignore_errors=True)
    os.makedirs(options.out)
    rng = random.Random(options.seed)
    readings = []
    for _ in range(options.segments):
        brightness = rng.uniform(60, 200)
        readings.append([f"{rng.gauss(brightness, 12.0):.3f}" for _ in range(READINGS)])
    for number in range(options.chunks):
        write_chunk(os.path.join(options.out, f"chunk-{number:05d}.json"), number, options, readings)
    print(f"{options.chunks} chunks of {options.voxels} voxels")


if __name__ == "__main__":
    main()
