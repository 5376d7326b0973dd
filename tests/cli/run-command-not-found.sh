pitot run --quiet --no-report -- ./no-such-program
