cat >pipeline.yaml <<'END'
stages:
  - {name: fetch, run: "true"}
  - {name: b, run: "true", needs: [fecth]}
END
pitot run --quiet
