# Warm-ups and repetitions each run the whole pipeline.
pitot run --quiet --no-report --warmup 1 --repeat 2 -- sh -c "echo x >>seen"
wc -l <seen
