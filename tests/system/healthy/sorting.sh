# A pipe of three programs.
seq 300000 -1 1 | sort -n | tail -n 1
