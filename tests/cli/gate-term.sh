# What was asked, what was seen, and why it was decided so.
pitot run --quiet --no-report -o a.pitot -- sh -c 'echo pitot-metric accuracy=0.9' >/dev/null
pitot run --quiet --no-report -o b.pitot -- sh -c 'echo pitot-metric accuracy=0.8' >/dev/null
pitot gate a.pitot b.pitot --gate max_accuracy_drop=0.05 --gate min_accuracy=0.5 --gate max_wall_s_increase_pct=5
