pitot run --
