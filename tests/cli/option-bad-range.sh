# Numbers that parse and make no sense are refused as well, before anything runs.
for options in '--jobs 0' '--jobs -1' '--repeat 0' '--warmup -1' '--interval 0' '--watts -3'; do
	# shellcheck disable=SC2086
	pitot run $options -- touch ran 2>/dev/null
	echo "$options: $?"
done
test ! -e ran
