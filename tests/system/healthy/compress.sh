# Compresses a file of moderate size.
head -c 12000000 /dev/urandom >data
gzip -1 <data >data.gz
