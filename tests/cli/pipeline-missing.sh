pitot run no/such/file.yaml
