# 0 where no threshold is broken, 2 where one is, 3 only on demand, 64 and 65 for mistakes.
pitot run --quiet --no-report -o a.pitot -- sh -c 'echo pitot-metric accuracy=0.9' >/dev/null
pitot run --quiet --no-report -o b.pitot -- sh -c 'echo pitot-metric accuracy=0.8' >/dev/null
status() { pitot gate "$@" >/dev/null 2>message; echo "$?: $(head -n 1 message)"; }
status a.pitot b.pitot --gate max_accuracy_drop=0.2
status a.pitot b.pitot --gate max_accuracy_drop=0.1
status a.pitot b.pitot --gate max_accuracy_drop=0.05
status b.pitot a.pitot --gate max_accuracy_drop=0
status b.pitot --gate min_quality:accuracy=0.85
status b.pitot --gate max_wall_s=3600
status a.pitot b.pitot --gate max_wall_s_increase_pct=5
status a.pitot b.pitot --gate max_wall_s_increase_pct=5 --fail-on-inconclusive
status a.pitot b.pitot --gate max_accuracy_drop=0.05 --gate max_wall_s_increase_pct=5 --fail-on-inconclusive
status a.pitot b.pitot
status b.pitot --gate max_wall_s_increase_pct=5
status a.pitot b.pitot --gate max_wall_increase_pct=5
status a.pitot b.pitot --gate max_wall_s
status a.pitot b.pitot --gate max_wall_s=fast
status a.pitot b.pitot --gate max_hs:wall_s=1
status a.pitot missing.pitot --gate max_wall_s=1
