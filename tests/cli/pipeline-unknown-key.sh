cat >pipeline.yaml <<'END'
stages:
  - {name: a, run: "true"}
  - {name: b, rnu: "true"}
END
pitot run --quiet
