"""Two functions, one of which takes about three times as long as the other."""


def heavy(count):
    total = 0
    for i in range(count):
        total += i * i % 7
    return total


def light(count):
    total = 0
    for i in range(count):
        total += i
    return total


def main():
    for _ in range(20):
        heavy(150_000)
        light(100_000)


main()
