# "pitot-metric name=value" on stdout is a quality metric; the last value counts.
pitot run --quiet --no-report -- sh -c 'echo pitot-metric loss=0.5; echo pitot-metric loss=0.25; echo pitot-metric rubbish' >passed
pitot report --format json | python3 -c 'import json, sys; print(json.load(sys.stdin)["quality_metrics"])'
