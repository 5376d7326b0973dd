cat >pipeline.yaml <<'END'
params: {train_epochs: 50}
stages:
  - {name: show, run: touch ran}
END
pitot run --quiet --train-epoch 10
status=$?
test ! -e ran && exit $status
