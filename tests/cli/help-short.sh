# -h prints a short usage that names every command.
pitot -h >usage && for command in run report history doctor init metrics completion; do
	grep -qw "$command" usage || echo "$command is missing"
done
