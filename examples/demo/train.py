"""Logistic regression by stochastic gradient descent, by hand."""

import argparse
import json
import math
import random

import model


def epoch(rows, weights, bias, rate):
    """One pass; the new bias and the mean loss."""
    loss = 0.0
    for features, label in rows:
        guess = model.probability(weights, bias, features)
        loss -= math.log(max(1e-12, guess if label else 1 - guess))
        step = rate * (label - guess)
        for i, feature in enumerate(features):
            weights[i] += step * feature
        bias += step
    return bias, loss / max(1, len(rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--out", required=True)
    parser.add_argument("features", nargs="+")
    options = parser.parse_args()
    rows = list(model.read(options.features, held_out=False))
    rng = random.Random(1)
    weights, bias = [0.0] * len(rows[0][0]), 0.0
    for number in range(options.epochs):
        rng.shuffle(rows)
        bias, loss = epoch(rows, weights, bias, 0.05 / (1 + number))
        print(f"epoch {number + 1}: loss {loss:.4f}", flush=True)
        print(f"pitot-metric train_loss={loss:.6f}", flush=True)
    with open(options.out, "w", encoding="ascii") as out:
        json.dump({"weights": weights, "bias": bias, "rows": len(rows)}, out)


if __name__ == "__main__":
    main()
