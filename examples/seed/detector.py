#!/usr/bin/env python3
"""A small object detector: the program behind pipeline.yaml. Standard library only, every number from a fixed seed.

An image is a 24 x 24 grid of grey values with up to three bright blobs on noise. Each of its 36 cells (4 x 4 pixels)
is described by a frozen "backbone" of random filters, and a logistic regression learns which cells hold a blob's centre.
"""

import argparse
import json
import math
import random
import sys
import zlib
from pathlib import Path

SIZE, CELL, FILTERS = 24, 4, 12
CELLS = SIZE // CELL
PATCH = CELL + 2  # a cell and one pixel around it


def load_config(path):
    config = json.loads(Path(path).read_text())
    base = Path(path).resolve().parent
    config["paths"] = {name: base / value for name, value in config["paths"].items()}
    return config


def write_json(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    print(f"wrote {path.name}, {path.stat().st_size / 1024:.0f} KiB")


def read_json(path):
    if not path.exists():
        sys.exit(f"detector.py: {path} is missing: run the stage that makes it first")
    return json.loads(path.read_text())


def seeded(config, purpose):
    """Each purpose has its own sequence, so that one stage's draws do not shift another's."""
    return random.Random(config["run"]["seed"] * 1000003 + zlib.crc32(purpose.encode()))


def draw_image(rng):
    pixels = [[rng.gauss(0.2, 0.14) for _ in range(SIZE)] for _ in range(SIZE)]
    cells = rng.sample(range(CELLS * CELLS), rng.randint(1, 3))
    for cell in cells:
        row = cell // CELLS * CELL + rng.uniform(1, CELL - 2)
        column = cell % CELLS * CELL + rng.uniform(1, CELL - 2)
        light, width = rng.uniform(0.25, 0.7), rng.uniform(0.9, 1.4)
        for y in range(SIZE):
            for x in range(SIZE):
                distance = (y - row) ** 2 + (x - column) ** 2
                if distance < 16:
                    pixels[y][x] += light * math.exp(-distance / (2 * width * width))
    return {"pixels": [[round(value, 4) for value in line] for line in pixels], "targets": sorted(cells)}


def fetch_dataset(config):
    name = config["run"]["dataset"]
    if name not in config["datasets"]:
        sys.exit(f"detector.py: unknown data set '{name}'; there are: {', '.join(config['datasets'])}")
    rng = seeded(config, "images")
    images = [draw_image(rng) for _ in range(config["datasets"][name]["images"])]
    write_json(config["paths"]["data"] / "raw.json", {"dataset": name, "images": images})


def fetch_backbone(config):
    rng = seeded(config, "backbone")
    filters = [[rng.gauss(0, 1 / PATCH) for _ in range(PATCH * PATCH)] for _ in range(FILTERS)]
    write_json(config["paths"]["weights"] / "backbone.json", {"filters": filters})


def patch_of(pixels, cell):
    top, left = cell // CELLS * CELL - 1, cell % CELLS * CELL - 1
    return [
        pixels[min(max(y, 0), SIZE - 1)][min(max(x, 0), SIZE - 1)]
        for y in range(top, top + PATCH)
        for x in range(left, left + PATCH)
    ]


def describe(patch, filters):
    """Filter responses, rectified, and three plain statistics."""
    responses = [max(0.0, sum(w * v for w, v in zip(weights, patch))) for weights in filters]
    inner = [patch[y * PATCH + x] for y in range(1, PATCH - 1) for x in range(1, PATCH - 1)]
    mean = sum(inner) / len(inner)
    edge = (sum(patch) - sum(inner)) / (len(patch) - len(inner))
    return responses + [max(inner), mean, mean - edge]


def rows_of(images, filters):
    rows = []
    for number, image in enumerate(images):
        targets = set(image["targets"])
        for cell in range(CELLS * CELLS):
            features = [round(value, 5) for value in describe(patch_of(image["pixels"], cell), filters)]
            rows.append({"image": number, "cell": cell, "x": features, "y": int(cell in targets)})
    return rows


def with_noise(image, noise, rng):
    pixels = [[round(value + rng.gauss(0, noise * 0.1), 4) for value in line] for line in image["pixels"]]
    return {"pixels": pixels, "targets": image["targets"]}


def generate_dataset(config):
    images = read_json(config["paths"]["data"] / "raw.json")["images"]
    filters = read_json(config["paths"]["weights"] / "backbone.json")["filters"]
    rng = seeded(config, "augment")
    held_out = max(8, len(images) // 4)
    train, test = images[held_out:], images[:held_out]
    noise, variants = config["generate"]["noise"], config["generate"]["variants"]
    augmented = [with_noise(image, noise, rng) for image in train for _ in range(variants)]
    # Cells without a blob are the vast majority; one in three is enough to learn from.
    rows = [row for row in rows_of(train + augmented, filters) if row["y"] or rng.random() < 1 / 3]
    write_json(config["paths"]["data"] / "generated.json", {"train": rows, "test": rows_of(test, filters)})


def check_dataset(config):
    data = read_json(config["paths"]["data"] / "generated.json")
    problems = []
    for part, rows in data.items():
        positives = sum(row["y"] for row in rows)
        if not 0 < positives < len(rows):
            problems.append(f"{part}: {positives} of {len(rows)} rows are positive")
        for number, row in enumerate(rows):
            if len(row["x"]) != FILTERS + 3 or not all(math.isfinite(value) for value in row["x"]):
                problems.append(f"{part}: row {number} is malformed")
        print(f"{part}: {len(rows)} rows, {positives} positive")
    if problems:
        sys.exit("detector.py: " + "; ".join(problems[:5]))


def probability(weights, features):
    score = weights[-1] + sum(w * x for w, x in zip(weights, features))
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, score))))


def scaling(rows):
    columns = list(zip(*(row["x"] for row in rows)))
    means = [sum(column) / len(column) for column in columns]
    deviations = [
        math.sqrt(sum((x - mean) ** 2 for x in column) / len(column)) or 1.0 for column, mean in zip(columns, means)
    ]
    return means, deviations


def scaled(features, means, deviations):
    return [(x - mean) / deviation for x, mean, deviation in zip(features, means, deviations)]


def train(config):
    rows = read_json(config["paths"]["data"] / "generated.json")["train"]
    means, deviations = scaling(rows)
    samples = [(scaled(row["x"], means, deviations), row["y"]) for row in rows]
    rng = seeded(config, "train")
    weights = [0.0] * (len(samples[0][0]) + 1)
    epochs, rate = config["train"]["epochs"], config["train"]["learning_rate"]
    for epoch in range(1, epochs + 1):
        rng.shuffle(samples)
        step, loss = rate / math.sqrt(epoch) / 10, 0.0
        for features, target in samples:
            guess = probability(weights, features)
            loss -= math.log(max(1e-12, guess if target else 1 - guess))
            pull = step * (target - guess)
            weights = [w + pull * x for w, x in zip(weights, features)] + [weights[-1] + pull]
        if epoch == epochs or epoch % 10 == 0:
            print(f"epoch {epoch}/{epochs} loss={loss / len(samples):.4f}", flush=True)
    write_json(config["paths"]["runs"] / "model.json", {"weights": weights, "means": means, "deviations": deviations})
    print(f"pitot-metric train_loss={loss / len(samples):.6f}")


def infer(config):
    model = read_json(config["paths"]["runs"] / "model.json")
    rows = read_json(config["paths"]["data"] / "generated.json")["test"]
    detections = []
    for row in rows:
        score = probability(model["weights"], scaled(row["x"], model["means"], model["deviations"]))
        if score >= config["infer"]["threshold"]:
            detections.append({"image": row["image"], "cell": row["cell"], "score": round(score, 6)})
    write_json(config["paths"]["runs"] / "detections.json", {"detections": detections})


def evaluate(config):
    detections = read_json(config["paths"]["runs"] / "detections.json")["detections"]
    rows = read_json(config["paths"]["data"] / "generated.json")["test"]
    found = {(item["image"], item["cell"]) for item in detections}
    truth = {(row["image"], row["cell"]) for row in rows if row["y"]}
    hits = len(found & truth)
    precision = hits / len(found) if found else 0.0
    recall = hits / len(truth)
    f1 = 2 * precision * recall / (precision + recall) if hits else 0.0
    grade = {
        "dataset": config["run"]["dataset"],
        "targets": len(truth),
        "detections": len(found),
        "precision": precision,
        "recall": recall,
        "miss_rate": 1 - recall,
        "run_grade_0_100": 100 * f1,
    }
    write_json(config["paths"]["runs"] / f"grade-{config['run']['dataset']}.json", grade)
    print(f"precision {precision:.3f}, recall {recall:.3f}, grade {100 * f1:.1f}/100")


STAGES = {
    "fetch-dataset": fetch_dataset,
    "fetch-backbone": fetch_backbone,
    "generate-dataset": generate_dataset,
    "check-dataset": check_dataset,
    "train": train,
    "infer": infer,
    "eval": evaluate,
}


def main():
    parser = argparse.ArgumentParser(description="A small object detector, stage by stage.")
    parser.add_argument("stage", choices=STAGES)
    parser.add_argument("--config", default=str(Path(__file__).with_name("config.json")))
    arguments = parser.parse_args()
    STAGES[arguments.stage](load_config(arguments.config))


if __name__ == "__main__":
    main()
