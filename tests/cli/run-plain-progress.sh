# Not on a terminal: plain lines on stderr, no colours, no cursor movements.
pitot run --no-report -- true 2>words
esc=$(printf "\033")
grep -c "$esc" words
grep -c . words >/dev/null && echo spoke
