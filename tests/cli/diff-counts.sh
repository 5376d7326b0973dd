# One run a side: nothing is said about time, but counts and quality are compared.
pitot run --quiet --no-report --name one -- sh -c 'echo pitot-metric accuracy=0.9' >/dev/null
pitot run --quiet --no-report --name one -- sh -c 'echo pitot-metric accuracy=0.8' >/dev/null
pitot diff --format json | python3 -c '
import json, sys
delta = json.load(sys.stdin)
rows = {(table["name"], row["name"]): row for table in delta["tables"] for row in table["rows"]}
print(delta["verdict"], delta["summary"])
print(rows["run", "wall_s"]["verdict"], rows["run", "wall_s"]["ratio_low"], rows["run", "wall_s"]["detectable"])
print(rows["quality", "accuracy"]["verdict"], rows["quality", "accuracy"]["better"])
print(rows["run", "output_bytes"]["verdict"], rows["run", "output_bytes"]["a"])
'
