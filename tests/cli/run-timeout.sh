pitot run --quiet --no-report --timeout 200ms -- sleep 60
status=$?
pitot report --format json | python3 -c 'import json, sys; print(json.load(sys.stdin)["stages"][0]["status"])'
exit $status
