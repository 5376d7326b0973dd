# Each filter lets through what it should and nothing else; what makes no sense is refused with what was meant.
pitot run --quiet --no-report --name good -- true
pitot run --quiet --no-report --name bad -- false
count() { pitot history --json "$@" 2>/dev/null | python3 -c 'import json, sys; print(len(json.load(sys.stdin)))'; }
echo "all $(count)"
echo "ok $(count --status ok), error $(count --status error), both $(count --status ok --status error)"
echo "since a day $(count --since 1d), until a day ago $(count --until 1d), since 2001 $(count --since 2001-02-03)"
echo "until the time of the first $(count --until "$(pitot history good --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["timestamp_utc"])')" good)"
echo "this machine $(count --host this), another $(count --host ffffffffffffffff)"
echo "a commit $(count --commit abc)"
pitot history tag good keep/1
echo "tag $(count --tag keep/1), at $(count --tag @keep/1), pattern $(count --tag 'k*'), other $(count --tag other)"
pitot history list tag 2>&1 | sed 's/in .* fits/in … fits/'
for words in "--status okay" "--since soon" "--until 2026-02-30" "--host=" "--metric wall_s" "--keep 3"; do
	# shellcheck disable=SC2086
	pitot history $words 2>&1 | head -1
done
