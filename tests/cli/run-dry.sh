# --dry-run shows every stage in order and runs none.
cat >pipeline.yaml <<'END'
name: plan
stages:
  - {name: first, run: touch ran}
  - {name: second, run: touch ran}
  - {name: label, manual: needs a person}
END
pitot run --dry-run && test ! -e ran && test ! -e "$PITOT_HISTORY"
