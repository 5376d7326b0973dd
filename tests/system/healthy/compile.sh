# A few processes, each of which does real work.
for unit in a b c d; do
	printf 'int %s(int n) { return n * %s1; }\n' $unit 1 >$unit.c
	cc -O2 -c $unit.c -o $unit.o
done
