# A word that is like no command gets no guess.
pitot banana 2>words
status=$?
grep -c "did you mean" words
exit $status
