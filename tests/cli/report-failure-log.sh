# A command's output is passed on, and what a failed one printed last stands in the report.
pitot run --quiet --no-report -- sh -c "echo from-stdout; echo from-stderr >&2; exit 1" >passed 2>&1
cat passed
pitot report | grep -Eo "^ +from-std(out|err)$" | tr -d " "
