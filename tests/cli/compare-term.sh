# The table, the verdict with its picture, and the numbers of the other metrics; never wider than the terminal.
export COLUMNS=80
pitot compare -q --no-history --seed 5 -w 0 -r 7 -n quick -n slow 'sleep 0.02' 'sleep 0.2' >out
sed 's/[0-9][0-9.]* *[mµ]s/T/g; s/[0-9][0-9.]* [KM]iB/M/g; s/[0-9][0-9.]*\( %\| ×\|,\|\]\)/N\1/g; s/  */ /g' out | sed -n '1,6p'
grep -o 'regressed' out
grep -c '^   0\.[0-9]* .*●.* [0-9.]*$' out
COLUMNS=40 pitot compare -q --no-history -r 2 true true | awk 'length($0) > 60 { print "too wide: " $0 }'
