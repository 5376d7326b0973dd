# A declared parameter is an option, with dashes or underscores; --set wins over nothing less.
cat >pipeline.yaml <<'END'
params: {train_epochs: 50, dataset: big}
stages:
  - {name: show, run: "echo ${dataset} ${train_epochs} >>seen"}
END
pitot run --quiet --no-report
pitot run --quiet --no-report --train-epochs 10 --dataset=small
pitot run --quiet --no-report --set train_epochs=7
echo 'dataset: medium' >few.yaml
pitot run --quiet --no-report --param few.yaml
cat seen
