# args: --memory
# Reads everything at once.
everything = b"x" * (200 << 20)
