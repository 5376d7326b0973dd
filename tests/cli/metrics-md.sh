pitot metrics --format md | grep -c "^| .wall_s. "
