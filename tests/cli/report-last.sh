# Words that name a run: nothing, last, last~1, the beginning of its name.
pitot run --quiet --no-report --name first -- true
pitot run --quiet --no-report --name second -- true
name() { pitot report "$@" | grep -Eo -m1 'first|second'; }
name
name last
name last~1
name fir
pitot report last~2
