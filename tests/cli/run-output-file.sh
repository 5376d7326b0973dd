# -o writes a run file that sqlite3 opens, and leaves the history alone.
pitot run --quiet --no-report -o one.pitot -- true &&
	sqlite3 one.pitot 'pragma integrity_check' &&
	ls
test ! -e "$PITOT_HISTORY" || find "$PITOT_HISTORY" -name '*.pitot'
