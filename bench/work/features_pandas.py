"""The steps of examples/features/nba2k.yaml in pandas, chunk by chunk: usage features_pandas.py TABLE ROWS_OF_A_CHUNK.

Written as one would who knows pandas: vectorised text operations, one correlation matrix per dropped column, get_dummies. Each chunk is
predicted before it is learned from; learning is one gradient step per row, in order, with the vectors of a row by numpy. It computes what
`pitot features --statistics chunk` does: bench/features.py compares the R² of both. Prints "name number" lines.
"""

import sys
import time

import numpy as np
import pandas as pd

NUMBERS = ["rating", "height", "weight", "salary"]
OF_TARGET = ["salary_roll_mean", "salary_roll_std", "salary_anomaly"]
RATE = 0.05  # of a step, as pitot's recipes have it
DROPPED = ["version", "b_day", "draft_year", "weight", "height"]


def clean(frame):
    frame["b_day"] = pd.to_datetime(frame["b_day"], format="%m/%d/%y")
    frame["draft_year"] = pd.to_datetime(frame["draft_year"], format="%Y")
    frame["team"] = frame["team"].fillna("No Team")
    frame["height"] = frame["height"].str.split(" / ").str[1].astype(float)
    frame["weight"] = frame["weight"].str.split(" / ").str[1].str.replace(" kg.", "", regex=False).astype(float)
    frame["salary"] = frame["salary"].str.replace("$", "", regex=False).astype(float)
    frame["rating"] = frame["rating"].astype(float)
    frame["country"] = np.where(frame["country"] == "USA", "USA", "Not-USA")
    frame["draft_round"] = frame["draft_round"].replace("Undrafted", "0")
    for name in NUMBERS:
        frame[name] = frame[name].fillna(frame[name].median())
    for name in frame.select_dtypes("object"):
        frame[name] = frame[name].fillna("Unknown_" + name)
    return frame


def derive(frame, carried):
    year = frame["version"].str.extract(r"(\d+)$")[0].astype(int)
    frame["version_year"] = np.where(year < 100, year + 2000, year)
    frame["age"] = frame["version_year"] - frame["b_day"].dt.year
    frame["experience"] = frame["version_year"] - frame["draft_year"].dt.year
    frame["bmi"] = frame["weight"] / frame["height"] ** 2
    frame = frame.sort_values("version_year", kind="stable").reset_index(drop=True)
    salaries = pd.concat([carried, frame["salary"]], ignore_index=True)
    rolling = salaries.rolling(5, min_periods=1)
    frame["salary_roll_mean"] = rolling.mean().to_numpy()[len(carried) :]
    frame["salary_roll_std"] = rolling.std(ddof=0).fillna(0).to_numpy()[len(carried) :]
    frame["birth_month"] = frame["b_day"].dt.month
    frame["draft_decade"] = frame["draft_year"].dt.year // 10 * 10
    salary = frame["salary"]
    frame["salary_anomaly"] = (((salary - salary.mean()) / salary.std(ddof=0)).abs() > 2.5).astype(int)
    return frame, salaries.iloc[-4:]


def select(frame):
    while True:
        numbers = frame.select_dtypes("number").drop(columns="salary")
        numbers = numbers.loc[:, numbers.nunique() > 1]
        matrix = numbers.corr().abs().to_numpy()
        np.fill_diagonal(matrix, 0)
        if not matrix.size or np.nanmax(matrix) <= 0.5:
            return frame
        first, second = np.unravel_index(np.nanargmax(matrix), matrix.shape)
        names = [numbers.columns[first], numbers.columns[second]]
        told = [abs(frame[name].corr(frame["salary"])) for name in names]
        frame = frame.drop(columns=names[0] if told[0] < told[1] else names[1])


def encode(frame):
    frame = frame.drop(columns=[name for name in DROPPED if name in frame])
    texts = [name for name in frame.select_dtypes("object") if frame[name].nunique() < 50]
    numbers = frame.select_dtypes("number").drop(columns="salary")
    scale = numbers.std(ddof=0).replace(0, 1)
    return pd.concat([(numbers - numbers.mean()) / scale, pd.get_dummies(frame[texts])], axis=1)


class Model:
    """Weights by name; what was made from the row's own target is kept out, as pitot does."""

    def __init__(self):
        self.weights, self.intercept, self.started = {}, 0.0, False
        self.rows, self.error, self.sum, self.squares = 0, 0.0, 0.0, 0.0

    def score(self, predictions, target):
        self.rows += len(target)
        self.error += float(((predictions - target) ** 2).sum())
        self.sum += float(target.sum())
        self.squares += float((target**2).sum())

    def update(self, matrix, target):
        matrix = matrix.drop(columns=[name for name in OF_TARGET if name in matrix])
        weights = np.array([self.weights.get(name, 0.0) for name in matrix.columns])
        values = np.ascontiguousarray(matrix.to_numpy(dtype=float))
        if self.started:
            self.score(values @ weights + self.intercept, target)
        else:
            self.started, self.intercept = True, float(target.mean())
        intercept = self.intercept
        rates = RATE / (2 + (values * values).sum(axis=1))
        for row, wanted, rate in zip(values, target.tolist(), rates.tolist()):
            step = rate * (wanted - (weights @ row + intercept))
            weights += step * row
            intercept += step
        self.intercept = intercept
        self.weights.update(zip(matrix.columns, weights))

    def r2(self):
        return 1 - self.error / (self.squares - self.sum**2 / self.rows) if self.rows else float("nan")


def main():
    rows, carried, model, start = 0, pd.Series(dtype=float), Model(), time.perf_counter()
    for frame in pd.read_csv(sys.argv[1], chunksize=int(sys.argv[2]), dtype=str):
        frame, carried = derive(clean(frame), carried)
        frame = select(frame)
        matrix = encode(frame)
        model.update(matrix, frame["salary"].to_numpy())
        rows += len(frame)
    elapsed = time.perf_counter() - start
    print(f"rows {rows}\nseconds {elapsed}\nrows_s {rows / elapsed}\nr2 {model.r2()}")


main()
