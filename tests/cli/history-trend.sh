# A trend over a history whose numbers are known: a step of 50 % at a commit, on one of two machines.
mkdir -p "$PITOT_HISTORY"
pitot run --quiet --no-report --name churn -o base.pitot -- true
python3 "$CASES/history-trend.py" base.pitot "$PITOT_HISTORY"
pitot history trend
echo "-- stage, quality"
pitot history trend churn --metric cpu_time_s --stage true | head -1
pitot history trend --quality precision | sed -n '1p;/median/p'
echo "-- json"
pitot history trend --json | python3 -c '
import json, sys
trend = json.load(sys.stdin)
for machine in trend["machines"]:
    print(machine["host_fingerprint"], machine["runs"], [(c["index"], c["git_commit"][:4], c["git_commit_before"][:4], c["direction"]) for c in machine["changes"]])'
echo "-- csv"
pitot history trend --csv --host 2222 | tr -d '\r' | sed -n '1,2p'
echo "-- wrong"
for words in "nobody" "--metric wall" "--quality x --stage y" "--quality recall" "--stage nowhere" "--json --csv" "--limit -1" "--yes"; do
	# shellcheck disable=SC2086
	pitot history trend $words 2>&1 | head -1
done
