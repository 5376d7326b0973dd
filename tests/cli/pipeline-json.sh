# A JSON file goes through the same parser.
echo '{"stages": [{"name": "a", "run": ["touch", "made here"]}]}' >p.json
pitot run --quiet --no-report p.json
ls
