# --show-output lets the stages of a pipeline speak, on stderr; without it a quiet run that succeeds is silent.
echo '{"stages": [{"name": "say", "run": "echo seen"}]}' >pipeline.json
pitot run --quiet --no-report pipeline.json 2>&1
pitot run --quiet --no-report --show-output pipeline.json 2>&1
