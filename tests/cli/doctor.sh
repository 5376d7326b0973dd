# doctor always succeeds; --json parses and has as many sources.
pitot doctor >/dev/null && pitot doctor --json | python3 -m json.tool >/dev/null && echo fine
