# The starter file is valid, is not overwritten, and is with --force.
pitot init >/dev/null && pitot run --dry-run >/dev/null && echo valid
echo mine >pipeline.yaml
pitot init 2>/dev/null
echo $?
cat pipeline.yaml
pitot init --force >/dev/null && pitot run --dry-run >/dev/null && echo valid
pitot init other.yaml >/dev/null && ls
