# Tags: set, used wherever a run is named, listed, moved by force only, taken away.
for name in one two; do pitot run --quiet --no-report --name $name -- true; done
name_of() { pitot report --format json "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)["run"]["name"])'; }
pitot history tag
pitot history tag one base && pitot history tag last @newest && pitot history tag | sed 's/-[0-9-]*\.pitot/-DATE.pitot/'
pitot history one | grep -c '@base'
name_of @base
pitot history tag two base || echo "refused: $?"
pitot history tag --force two base && name_of @base
rm -f "$PITOT_HISTORY/index.sqlite" && name_of @base
rm "$PITOT_HISTORY"/two*.pitot
pitot report @base
pitot history tag | sed 's/-[0-9-]*\.pitot/-DATE.pitot/'
pitot history untag base newest && pitot history tag
pitot history untag base
pitot history tag one 'not a tag'
pitot history tag one
cp "$PITOT_HISTORY"/one*.pitot elsewhere.pitot && pitot history tag elsewhere.pitot x 2>&1 | sed "s|'/.*'|'…'|"
