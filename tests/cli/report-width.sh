# Tables never get wider than they may.
pitot run --quiet --no-report -- true
for width in 60 80 120; do
	pitot report --width $width | python3 -c 'import sys; print(max(len(l.rstrip("\n")) for l in sys.stdin) <= int(sys.argv[1]))' $width
done
