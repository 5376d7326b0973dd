# Without a command: the short usage, on stderr.
pitot
