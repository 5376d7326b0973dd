"""Grades the model on the rows that training never saw."""

import argparse
import json

import model


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("features", nargs="+")
    options = parser.parse_args()
    with open(options.model, encoding="ascii") as file:
        trained = json.load(file)
    counts = {(guess, label): 0 for guess in (False, True) for label in (0, 1)}
    for features, label in model.read(options.features, held_out=True):
        guess = model.probability(trained["weights"], trained["bias"], features) >= 0.5
        counts[guess, label] += 1
    hits, misses, alarms = counts[True, 1], counts[False, 1], counts[True, 0]
    precision = hits / max(1, hits + alarms)
    recall = hits / max(1, hits + misses)
    grade = {
        "grade": 100 * 2 * precision * recall / max(1e-9, precision + recall),
        "precision": precision,
        "recall": recall,
        "miss_rate": 1 - recall,
        "rows": sum(counts.values()),
    }
    with open(options.out, "w", encoding="ascii") as out:
        json.dump(grade, out, indent=2)
    print(json.dumps(grade))


if __name__ == "__main__":
    main()
