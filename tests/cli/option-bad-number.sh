pitot run --jobs two -- true
