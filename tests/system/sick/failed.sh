# Ends with an error after a little work.
sleep 0.2
echo "no such column: price" >&2
exit 3
