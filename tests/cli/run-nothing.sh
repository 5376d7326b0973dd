# No file, no command, nothing here to run.
pitot run
