#!/usr/bin/env python3
"""Invents a table of basketball players for the recipe nba2k.yaml, and prints it as CSV.

    generate.py [ROWS] [SEED] > players.csv

The same arguments give the same bytes. No value is anybody's: names are made of syllables, clubs of places that do not exist.
Some cells are empty, as in real tables, and some need quotes.
"""

import random
import sys

COLUMNS = (
    "full_name,rating,jersey,team,position,b_day,height,weight,salary,country,draft_year,draft_round,draft_peak,college,version"
)
SYLLABLES = "an bel cor da el fin gar hol is jor ka lun mar nor os pel quin ros sar tem ul var wen yor zel".split()
PLACES = "Aldmoor Brenfell Castlow Dunmere Eastwick Farholt Glenmar Hartsea Ironford Kingsrow Larkhill Millbay".split()
ANIMALS = "Herons Otters Falcons Badgers Lynxes Ravens".split()
POSITIONS = ["G", "F", "C", "F-G", "G-F", "F-C", "C-F"]
COUNTRIES = ["USA"] * 15 + ["Canada", "France", "Serbia", "Australia", "Spain"]


def name(rng):
    first = "".join(rng.choice(SYLLABLES) for _ in range(rng.randint(1, 2))).capitalize()
    last = "".join(rng.choice(SYLLABLES) for _ in range(rng.randint(2, 3))).capitalize()
    return f'"{last}, {first}"' if rng.random() < 0.02 else f"{first} {last}"


def make_vocabularies(rng):
    """(clubs, colleges): a club is a place and an animal; there are more colleges than any encoding wants."""
    clubs = [f"{place} {rng.choice(ANIMALS)}" for place in PLACES for _ in range(3)][:30]
    colleges = sorted({f"{rng.choice(PLACES)} {rng.choice(SYLLABLES).capitalize()} College" for _ in range(200)})
    return clubs, colleges


def player(rng, clubs, colleges):
    year = rng.choice([20, 20, 20, 20, 19, 21])
    age = min(40, max(19, int(rng.gauss(26, 4))))
    born = 2000 + year - age
    experience = max(0, age - rng.randint(19, 23))
    drafted = rng.random() < 0.8
    skill = rng.gauss(0, 1) + 0.12 * experience
    rating = min(99, max(60, int(75 + 4 * skill)))
    salary = max(79568, int(2.718281828 ** (15 + 0.55 * skill + rng.gauss(0, 0.3))))
    feet, inches = divmod(int(rng.gauss(78, 3.4)), 12)
    metres = (12 * feet + inches) * 0.0254
    pounds = int(rng.gauss(217, 23))
    missing = rng.random()
    return ",".join(
        (
            name(rng),
            "" if 0.010 < missing < 0.013 else str(rating),
            f"#{rng.randrange(56)}",
            "" if missing > 0.95 else rng.choice(clubs),
            "" if 0.003 < missing < 0.006 else rng.choice(POSITIONS),
            f"{rng.randint(1, 12):02}/{rng.randint(1, 28):02}/{born % 100:02}",
            "" if 0.006 < missing < 0.010 else f"{feet}-{inches} / {metres:.2f}",
            f"{pounds} lbs. / {pounds * 0.45359237:.1f} kg.",
            "" if missing < 0.003 else f"${salary}",
            rng.choice(COUNTRIES),
            str(2000 + year - experience),
            str(rng.randint(1, 2)) if drafted else "Undrafted",
            str(rng.randint(1, 60)) if drafted else "Undrafted",
            "" if rng.random() < 0.15 else rng.choice(colleges),
            f"NBA2k{year}",
        )
    )


def write(rows, seed, out):
    rng = random.Random(seed)
    clubs, colleges = make_vocabularies(rng)
    out.write(COLUMNS + "\n")
    for _ in range(rows):
        out.write(player(rng, clubs, colleges) + "\n")


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:3]] + [1000, 42][len(sys.argv) - 1 :]
    write(numbers[0], numbers[1], sys.stdout)
