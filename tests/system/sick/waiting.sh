# Sleeps.
sleep 0.5
