for name in one two one; do pitot run --quiet --no-report --name $name -- true; done
count() { pitot history --json "$@" | python3 -c 'import json, sys; print(len(json.load(sys.stdin)))'; }
count
count one
count --limit 2
count --history elsewhere
pitot history | grep -cE '(one|two)'
