# -o writes the file whole; a folder that is not there is an error.
pitot run --quiet --no-report -- true
pitot report --format json -o r.json && python3 -m json.tool r.json >/dev/null && ls
pitot report --format json -o no/such/r.json
