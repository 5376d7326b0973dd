# A failed stage fails the run; what needs it is skipped, the rest goes on.
cat >pipeline.yaml <<'END'
stages:
  - {name: bad, run: exit 3}
  - {name: after, run: touch after}
  - {name: apart, run: touch apart, needs: []}
END
pitot run --quiet --no-report
status=$?
pitot report --format json |
	python3 -c 'import json, sys; [print(s["stage"], s["status"]) for s in json.load(sys.stdin)["stages"]]'
ls
exit $status
