# The table, the verdict with its picture, and the numbers of the other metrics; never wider than the terminal.
export COLUMNS=80
pitot compare -q --no-history --seed 5 -w 0 -r 10 -n quick -n slow 'sleep 0.01' 'sleep 0.1' >out
grep -c '^10 runs of each, interleaved at random (seed 5)' out
# Numbers vary, and with them the blanks before them.
sed -n 's/  */ /g; s/[0-9][0-9.]* [mµ]*s\>/TIME/g; s/[0-9][0-9.]* [KM]iB/SIZE/g; s/[0-9.]* %/PERCENT/g
	/wall_s median/p; /^[12] [qs]/p' out
grep -o '^2 is slower than 1: [0-9]' out | tr 0-9 N
grep -c '^   0\.[0-9]* .*●.* [0-9.]*$' out
grep -c '^   cpu_time_s  .* × \[' out
COLUMNS=40 pitot compare -q --no-history -r 2 true true | awk 'length($0) > 60 { print "too wide: " $0 }'
