# Starts the interpreter for each item.
i=0
while [ $i -lt 30 ]; do
	"$PYTHON" -c 'import json'
	i=$((i + 1))
done
