"""Counts words in chunks of invented text: a program that says what it does.

    pitot run -- python3 examples/spans/words.py [chunks]

Runs as well without pitot, where `import pitot` fails and the stand-in below does nothing.
"""

import collections
import random
import sys

try:
    import pitot
except ImportError:
    pitot = None


def make_chunk(seed):
    draw = random.Random(seed)
    return " ".join(draw.choice("data model train test loss batch epoch".split()) + str(draw.randrange(50)) for _ in range(20000))


def reader(count):
    for seed in range(count):
        yield make_chunk(seed)


def main():
    totals = collections.Counter()
    chunks = reader(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
    if pitot is None:
        for chunk in chunks:
            totals.update(chunk.split())
    else:
        for chunk in pitot.chunks(chunks, rows=lambda text: text.count(" ") + 1):
            with pitot.span("split"):
                words = chunk.split()
            with pitot.span("count"):
                totals.update(words)
            pitot.counter("words", len(words))
            pitot.gauge("distinct", len(totals))
        pitot.snapshot("after all chunks")
    print(totals.most_common(1)[0][0])


main()
