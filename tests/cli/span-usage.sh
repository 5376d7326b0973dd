# What is wrong is told; what is right is run as if nothing were there.
for arguments in '' 'name' '--' '"" true'; do
	eval "pitot span $arguments" 2>err; echo "status $?"; head -1 err
done
pitot span name -- sh -c 'echo "$1 $PITOT_SPAN_PATH"; exit 3' sh 'one two'; echo "status $?"
pitot span name -- ./missing 2>&1; echo "status $?"
: >plain; pitot span name -- ./plain 2>&1; echo "status $?"
