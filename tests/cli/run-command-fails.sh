# Whatever the command returns, a failed pipeline is 1.
pitot run --quiet --no-report -- sh -c "exit 7"
