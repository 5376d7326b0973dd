pitot run --jbos 2 -- true
