pitot run --quiet --no-report -- true
pitot report --format csv | head -n 1
pitot report --format csv | wc -l
