# Several runs a side, by words and by flags; what does not fit is wrong usage.
for i in 1 2 3 4; do pitot run --quiet --no-report --repeat 2 --warmup 1 -o "$i.pitot" -- true; done
count() {
	pitot diff --format json "$@" | python3 -c '
import json, sys
sides = json.load(sys.stdin)["sides"]
print([(len(sides[side]["runs"]), sides[side]["repetitions"]) for side in "ab"])'
}
count 1.pitot 2.pitot
count 1.pitot 2.pitot -- 3.pitot
count --a 1.pitot --b 2.pitot --b 3.pitot --b 4.pitot
status() { pitot diff "$@" >/dev/null 2>message; echo "$?: $(head -n 1 message)"; }
status 1.pitot 2.pitot 3.pitot
status 1.pitot --
status -- 1.pitot
status --a 1.pitot
status --a 1.pitot --b 2.pitot 3.pitot
status 1.pitot missing.pitot
status --confidence 100 1.pitot 2.pitot
status --threshold 0 1.pitot 2.pitot
status --metric wal_s 1.pitot 2.pitot
status --stage tru 1.pitot 2.pitot
status --width -1 1.pitot 2.pitot
