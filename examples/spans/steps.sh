#!/bin/sh
# Steps of a shell script as operators: pitot run -- sh examples/spans/steps.sh
set -e
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
pitot span make -- sh -c "seq 200000 | tr 0-9 a-j > '$dir/words'"
pitot span sort -- sort -o "$dir/sorted" "$dir/words"
pitot span compress -- gzip "$dir/sorted"
