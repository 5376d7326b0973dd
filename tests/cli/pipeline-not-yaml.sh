cat >pipeline.yaml <<'END'
stages: [
END
pitot run --quiet
