# The version is one line on stdout.
pitot --version
