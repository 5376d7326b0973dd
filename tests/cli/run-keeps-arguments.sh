# The command gets its words as they are: no shell in between, options behind the dashes are the command's.
pitot run --quiet --no-report --inherit -- printf '<%s>' 'a b' '*' '$HOME' --jobs ''
echo
