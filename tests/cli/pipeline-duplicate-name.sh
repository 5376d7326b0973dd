cat >pipeline.yaml <<'END'
stages:
  - {name: a, run: "true"}
  - {name: a, run: "true"}
END
pitot run --quiet
