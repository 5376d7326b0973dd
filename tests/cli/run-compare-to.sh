# A run is compared with an earlier one in one go; that one is looked up before anything runs.
cat >pipeline.yaml <<'END'
stages:
  - {name: eval, run: 'touch ran; echo pitot-metric f1=$(cat f1)'}
gate:
  max_quality:f1_drop: 0.01
END
echo 0.9 >f1; pitot run --quiet
echo 0.8 >f1; rm ran
pitot run --quiet --compare-to lsat; echo $?; ls ran 2>/dev/null
pitot run --quiet --fail-on-regression; echo $?
pitot run --quiet --compare-to last~7 --fail-on-regression; echo $?
pitot run --quiet --compare-to last --report-dir one; echo $?
pitot run --quiet --compare-to last~1 --fail-on-regression --report-dir two; echo $?
pitot run --quiet --compare-to last --fail-on-regression; echo $?
ls one two
head -n 5 two/profile_delta.md
