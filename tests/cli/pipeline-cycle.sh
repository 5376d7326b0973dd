cat >pipeline.yaml <<'END'
stages:
  - {name: a, run: "true", needs: [b]}
  - {name: b, run: "true", needs: [a]}
END
pitot run --quiet
