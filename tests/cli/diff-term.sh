# The verdict first, then the sides, then what changed; with one run a side it says what cannot be concluded.
pitot run --quiet --no-report --name one -- true
pitot run --quiet --no-report --name one -- true
pitot diff
