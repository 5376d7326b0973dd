pitot run --quiet --no-report --name named -- true
pitot report --format json | python3 -c '
import json, sys
report = json.load(sys.stdin)
stage = report["stages"][0]
keys = "timestamp_utc dataset train_epochs total_duration_s stages quality_metrics metrics"
print([key for key in keys.split() if key not in report])
keys = "stage status duration_s cpu_percent_avg cpu_percent_max rss_mb_max gpu_util_percent_avg gpu_mem_mb_max metrics"
print([key for key in keys.split() if key not in stage])
for name, metric in stage["metrics"].items():
    known = {"value", "unit", "method", "source"} <= metric.keys() and metric["value"] is not None
    absent = metric["value"] is None and metric["reason"]
    if not known and not absent:
        print("no provenance:", name, metric)
'
