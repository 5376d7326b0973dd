# Nothing goes without --yes; what has a tag, is no run file or was not asked for stays.
mkdir -p "$PITOT_HISTORY"
for i in 1 2 3; do pitot run --quiet --no-report --name one -o "$PITOT_HISTORY/one-$i.pitot" -- true; done
pitot run --quiet --no-report --name two -o "$PITOT_HISTORY/two-1.pitot" -- true
printf 'Dear diary' >"$PITOT_HISTORY/diary.pitot"
: >"$PITOT_HISTORY/empty.pitot"
: >"$PITOT_HISTORY/notes.txt"
touch -d 2020-01-01 "$PITOT_HISTORY"/diary.pitot "$PITOT_HISTORY"/empty.pitot "$PITOT_HISTORY"/notes.txt
pitot history tag one-1.pitot first
tidy() { sed 's/20[0-9-]* [0-9:]*/MOMENT/; s/, [0-9.]* [KM]iB$/, SIZE/'; }
echo "-- dry"; pitot history prune --keep 1 | tidy
ls "$PITOT_HISTORY" | grep -c pitot
echo "-- yes"; pitot history prune --keep 1 --yes | tidy
echo "-- old"; pitot history prune --older-than 1h --yes
echo "-- damaged"; pitot history prune --damaged --yes | tidy
echo "-- name"; pitot history prune --name two --yes | tidy
echo "-- left"; ls "$PITOT_HISTORY" | grep -E 'pitot|txt'
for words in "" "--keep -1" "--keep=-2" "--older-than soon" "--damaged --name one" "one"; do
	# shellcheck disable=SC2086
	pitot history prune $words 2>&1 | head -1
done
echo garbage >"$PITOT_HISTORY/tags"
pitot history prune --keep 0 --yes 2>/dev/null
echo "tags unreadable: $?"
