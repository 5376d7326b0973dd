# Reads a large file in large blocks.
head -c 100000000 /dev/zero >data
cat data >/dev/null
cksum data
