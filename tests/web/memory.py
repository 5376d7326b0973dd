"""What the memory view's test looks at: objects of a class, and a list that grows from chunk to chunk."""
import pitot


class Row:
    __slots__ = ("a", "b")


def remember(kept):
    kept.append(bytearray(100000))


rows = [Row() for i in range(100000)]
pairs = [(i / 2.0, None) for i in range(50000)]
kept = []
for chunk in pitot.chunks(range(40)):
    remember(kept)
