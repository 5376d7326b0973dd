pitot run --quiet --no-report -- true
