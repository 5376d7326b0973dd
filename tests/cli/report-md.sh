pitot run --quiet --no-report -- true
pitot report --format md | head -n 1
