# Words that name a run: nothing, last, last~1, the beginning of its name.
pitot run --quiet --no-report --name first -- true
pitot run --quiet --no-report --name second -- true
name() { pitot report "$@" --format json | python3 -c 'import json, sys; print(json.load(sys.stdin)["run"]["name"])'; }
name
name last
name last~1
name fir
pitot report last~2
