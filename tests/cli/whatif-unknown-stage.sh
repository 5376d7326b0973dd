pitot run --quiet --no-report -- sleep 0.06
pitot whatif last slep=2x
