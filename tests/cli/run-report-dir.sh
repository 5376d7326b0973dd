pitot run --quiet --no-report --report-dir out/reports -- true
ls out/reports
python3 -m json.tool out/reports/profile_report.json >/dev/null
head -n 1 out/reports/profile_summary.md
