cat >pipeline.yaml <<'END'
name: empty
END
pitot run --quiet
