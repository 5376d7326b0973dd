"""What train and evaluate share: reading features, and which rows are kept back."""

import math

HOLDOUT = 5  # every fifth row is for evaluation


def read(paths, held_out):
    """Rows [features..., label] of the training part or of the part that is held out."""
    number = 0
    for path in sorted(paths):
        with open(path, encoding="ascii") as lines:
            for line in lines:
                number += 1
                if (number % HOLDOUT == 0) == held_out:
                    *features, label = line.split(",")
                    yield [float(feature) for feature in features], int(label)


def probability(weights, bias, features):
    total = bias
    for weight, feature in zip(weights, features):
        total += weight * feature
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))
