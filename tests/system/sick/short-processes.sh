# A program inside a loop instead of a loop inside a program.
i=0
while [ $i -lt 400 ]; do
	/bin/true
	i=$((i + 1))
done
