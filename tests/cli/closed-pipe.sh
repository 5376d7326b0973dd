# Somebody who stops reading is no error.
pitot metrics | head -n 1 >/dev/null
pitot --help | head -n 1
