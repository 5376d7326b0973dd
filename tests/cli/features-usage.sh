# Numbers that make no sense are refused before anything is read, and nothing is left.
printf 'a,b\n1,2\n' >t.csv
for arguments in '' 't.csv u.csv' 't.csv --chunk-size 0' 't.csv --max-compute-units 1.5' 't.csv --max-memory-mb 0.5' \
	't.csv --n-jobs 0' 't.csv --benchmark-runs -2' 't.csv --chunk-sizes 64,x' 't.csv --compute-limits 0' \
	't.csv --delimiter ab' 't.csv --mode fast'; do
	# shellcheck disable=SC2086
	pitot features $arguments 2>message
	echo "$?: $(sed -n 1p message)"
done
ls
