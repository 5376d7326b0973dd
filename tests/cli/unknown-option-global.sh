pitot --verison
