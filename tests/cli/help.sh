# --help prints the manual page.
pitot --help | head -n 5
