pitot history
pitot history --json
