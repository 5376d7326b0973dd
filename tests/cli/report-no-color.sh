pitot run --quiet --no-report -- true
esc=$(printf "\033")
pitot report --verbose | grep -c "$esc"
