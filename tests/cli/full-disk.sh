# Output that cannot be written is an error with words.
pitot metrics >/dev/full
