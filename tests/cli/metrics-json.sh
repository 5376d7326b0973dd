pitot metrics --format json | python3 -c 'import json, sys; m = json.load(sys.stdin); print(m[0]["name"], m[0]["unit"], len(m) == len({x["name"] for x in m}) > 40)'
