# A script of some twenty steps, most of them small.
for step in 1 2 3 4 5 6; do
	mkdir -p out/$step
	head -c 3000000 /dev/urandom >out/$step/raw
	cksum out/$step/raw >out/$step/sum
done
