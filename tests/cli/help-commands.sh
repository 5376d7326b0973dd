# Every command prints its manual page with --help, and on stdout.
for command in run report diff gate compare whatif history features machine doctor init metrics; do
	pitot "$command" --help | sed -n 2p
done
