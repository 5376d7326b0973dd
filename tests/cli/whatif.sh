# Amdahl on the stages: the total, the limit, and what comes next. Times are blanked.
cat >pipeline.yaml <<'END'
name: two
stages:
  - {name: fetch, run: sleep 0.1}
  - {name: train, run: sleep 0.4}
END
pitot run --quiet --no-report
pitot whatif last train=2x | sed -E 's/[0-9.]+ (s|ms|%)/N \1/g; s/[0-9.]+ times/N times/g'
pitot whatif | sed -E 's/[0-9.]+ (s|ms|%)/N \1/g; s/[0-9.]+x/Nx/g; s/  +/ /g'
