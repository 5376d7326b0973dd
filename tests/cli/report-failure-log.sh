# What a failed stage printed last stands in the report.
pitot run --quiet --no-report -- sh -c "echo from-stdout; echo from-stderr >&2; exit 1"
pitot report | grep -Eo "from-std(out|err)"
