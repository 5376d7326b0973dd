# A word too many is wrong usage, not something to ignore.
for words in "doctor x" "machine x" "metrics x" "init a b" "report a b" "history a b" "run a.yaml b.yaml"; do
	# shellcheck disable=SC2086
	pitot $words >/dev/null 2>&1
	echo "$words: $?"
done
