# --show-output lets the stage speak; without it a quiet run of a stage that succeeds is silent.
pitot run --quiet --no-report -- echo unseen
pitot run --quiet --no-report --show-output -- echo seen 2>&1
