# Parses and groups records that it generated.
import collections
import json
import random

random.seed(1)
lines = [json.dumps({"segment": random.randrange(50), "value": random.random()}) for _ in range(60000)]
sums = collections.Counter()
for line in lines:
    record = json.loads(line)
    sums[record["segment"]] += record["value"]
print(len(sums))
