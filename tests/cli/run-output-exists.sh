# A file that is there is never overwritten, and nothing runs.
echo precious >one.pitot
pitot run --quiet --no-report -o one.pitot -- touch ran 2>words || echo refused
cat one.pitot
test ! -e ran && grep -c one.pitot words
