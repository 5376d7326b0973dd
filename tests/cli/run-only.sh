cat >pipeline.yaml <<'END'
stages:
  - {name: one, run: touch one}
  - {name: two, run: touch two}
  - {name: three, run: touch three}
END
pitot run --quiet --no-report --only two --only three
ls
pitot run --quiet --no-report --only tow
