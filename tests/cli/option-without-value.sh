pitot run --jobs
