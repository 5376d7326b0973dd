cat >pipeline.yaml <<'END'
stages: [{name: a, run: touch ran}]
gate:
  max_total_duration_incrase_pct: 5
END
pitot run; status=$?
ls ran 2>/dev/null
exit $status
