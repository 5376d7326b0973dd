mkdir pipeline.yaml
pitot run
