"""The rules of the reference recipe (examples/features/nba2k.yaml) once more, in plain Python: what tests compare pitot with.

Written from the rules, not from the engine: lists of rows, no arrays, sums by math.fsum. Slow and meant to be.
"""

import csv
import datetime
import math

TARGET = "salary"
NUMBERS = ("rating", "height", "weight", "salary")
DATES = {"b_day": "%m/%d/%y", "draft_year": "%Y"}
DROPPED_BEFORE_ENCODING = ("version", "b_day", "draft_year", "weight", "height")
MOST_CATEGORIES = 50
WINDOW = 5


def read(path):
    """Columns by name, in the file's order; an empty cell is None."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    return {name: [row[at] or None for row in rows[1:]] for at, name in enumerate(rows[0])}


def rows_of(table):
    return len(next(iter(table.values())))


def median(values):
    values = sorted(values)
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def mean(values):
    return math.fsum(values) / len(values)


def deviation(values, less=0):
    middle = mean(values)
    return math.sqrt(math.fsum((value - middle) ** 2 for value in values) / (len(values) - less))


def quantile(values, share):
    values = sorted(values)
    at = share * (len(values) - 1)
    low = math.floor(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (at - low) * (values[high] - values[low])


def second_part(text):
    return text.split(" / ")[1]


PARSERS = {
    "rating": float,
    "height": lambda text: float(second_part(text)),
    "weight": lambda text: float(second_part(text).replace(" kg.", "")),
    "salary": lambda text: float(text.replace("$", "")),
    "country": lambda text: "USA" if text == "USA" else "Not-USA",
    "draft_round": lambda text: "0" if text == "Undrafted" else text,
    "b_day": lambda text: posix_date(text, "%m/%d/%y"),
    "draft_year": lambda text: posix_date(text, "%Y"),
}


def posix_date(text, layout):
    return datetime.datetime.strptime(text, layout).date()


def clean(table):
    cleaned = {}
    for name, column in table.items():
        parse = PARSERS.get(name, str)
        values = [None if cell is None else parse(cell) for cell in column]
        if name in NUMBERS:
            known = [value for value in values if value is not None]
            middle = median(known) if known else None
            values = [middle if value is None else value for value in values]
        elif name not in DATES:
            missing = "No Team" if name == "team" else "Unknown_" + name
            values = [missing if value is None else value for value in values]
        cleaned[name] = values
    return cleaned


def version_year(text):
    digits = ""
    while text and text[-1].isdigit():
        digits, text = text[-1] + digits, text[:-1]
    return int(digits) + (2000 if int(digits) < 100 else 0)


def derive(cleaned, streaming=False, carried=()):
    """The table with the derived columns, rows sorted; and the values that the next chunk's window begins with."""
    years = [version_year(text) for text in cleaned["version"]]
    order = sorted(range(len(years)), key=years.__getitem__)
    table = {name: [column[at] for at in order] for name, column in cleaned.items()}
    table["version_year"] = [float(years[at]) for at in order]
    table["age"] = [year - day.year for year, day in zip(table["version_year"], table["b_day"])]
    table["experience"] = [year - day.year for year, day in zip(table["version_year"], table["draft_year"])]
    table["bmi"] = [weight / height**2 for weight, height in zip(table["weight"], table["height"])]
    salaries = list(carried) + table["salary"]
    windows = [salaries[max(0, at + 1 - WINDOW) : at + 1] for at in range(len(carried), len(salaries))]
    table["salary_roll_mean"] = [mean(window) for window in windows]
    less = 0 if streaming else 1
    table["salary_roll_std"] = [deviation(window, less) if len(window) > 1 else 0.0 for window in windows]
    table["birth_month"] = [float(day.month) for day in table["b_day"]]
    table["draft_decade"] = [float(day.year // 10 * 10) for day in table["draft_year"]]
    middle, spread = mean(table["salary"]), deviation(table["salary"]) or 1.0
    table["salary_anomaly"] = [float(abs((value - middle) / spread) > 2.5) for value in table["salary"]]
    return table, salaries[-(WINDOW - 1) :]


def correlation(one, other):
    a, b = mean(one), mean(other)
    up = math.fsum((x - a) * (y - b) for x, y in zip(one, other))
    return up / math.sqrt(math.fsum((x - a) ** 2 for x in one) * math.fsum((y - b) ** 2 for y in other))


def is_number(column):
    return isinstance(column[0], float)


def select(table, limit=0.5):
    """Names that are dropped, in the table's order."""
    names = [name for name, column in table.items() if is_number(column) and name != TARGET and len(set(column)) > 1]
    with_target = {name: abs(correlation(table[name], table[TARGET])) for name in names}
    pairs = {(a, b): abs(correlation(table[a], table[b])) for at, a in enumerate(names) for b in names[at + 1 :]}
    dropped = set()
    while True:
        left = {pair: value for pair, value in pairs.items() if not dropped & set(pair)}
        if not left or max(left.values()) <= limit:
            return [name for name in table if name in dropped]
        first, second = max(left, key=left.get)
        dropped.add(first if with_target[first] < with_target[second] else second)


def encode(table, dropped):
    """Columns of the matrix by name, in order."""
    gone = set(dropped) | set(DROPPED_BEFORE_ENCODING) | {TARGET}
    left = {name: column for name, column in table.items() if name not in gone}
    matrix = {}
    for name, column in left.items():
        if is_number(column):
            middle, spread = mean(column), deviation(column) or 1.0
            matrix[name] = [(value - middle) / spread for value in column]
    for name, column in left.items():
        categories = list(dict.fromkeys(column)) if not is_number(column) else []
        if len(categories) < MOST_CATEGORIES:
            for category in categories:
                matrix[f"{name}__{category}"] = [float(value == category) for value in column]
    return matrix


def batch(path):
    cleaned = clean(read(path))
    features, _ = derive(cleaned)
    dropped = select(features)
    return {"cleaned": cleaned, "features": features, "dropped": dropped, "matrix": encode(features, dropped)}


def chunks(path, size):
    """Streaming where every chunk is cleaned, selected and encoded by itself."""
    table, carried = read(path), ()
    for start in range(0, rows_of(table), size):
        cleaned = clean({name: column[start : start + size] for name, column in table.items()})
        features, carried = derive(cleaned, True, carried)
        dropped = select(features)
        yield {"rows": rows_of(features), "dropped": dropped, "features": features, "matrix": encode(features, dropped)}


def distance(early, late):
    """Kolmogorov and Smirnov's, by its definition."""
    early, late = sorted(early), sorted(late)
    most = 0
    at = [0, 0]
    for value in sorted(set(early) | set(late)):
        for side, values in enumerate((early, late)):
            while at[side] < len(values) and values[at[side]] <= value:
                at[side] += 1
        most = max(most, abs(at[0] / len(early) - at[1] / len(late)))
    return most


def shares(values):
    return {value: values.count(value) / len(values) for value in set(values)}


def quality(cleaned):
    half = rows_of(cleaned) // 2
    drift, outlying = {}, [False] * rows_of(cleaned)
    for name, column in cleaned.items():
        early, late = column[:half], column[half:]
        if name in NUMBERS:
            drift[name] = {"ks": distance(early, late), "mean_shift": mean(late) - mean(early)}
            low, high = quantile(column, 0.25), quantile(column, 0.75)
            reach = 1.5 * (high - low)
            outlying = [bad or not low - reach <= x <= high + reach for bad, x in zip(outlying, column)]
        else:
            a, b = shares(early), shares(late)
            drift[name] = {"l1": math.fsum(abs(a.get(value, 0) - b.get(value, 0)) for value in set(a) | set(b))}
    return {"drift": drift, "outlier_rate": sum(outlying) / len(outlying)}
