# Every option of a command's table stands in its manual page, and every option that the page explains is in the table.
for command in run report diff gate compare whatif history features machine doctor init metrics; do
	pitot "$command" -h | grep -Eo -- '--[a-z][a-z-]+' | sort -u >table
	pitot "$command" --help | grep -Eo -- '^     (-[a-z], )?--[a-z][a-z-]+' | grep -Eo -- '--[a-z][a-z-]+' | sort -u >page
	# --help itself, and what stands for a parameter of the pipeline's.
	grep -vx -e --help -e --parameter table | while read -r option; do
		pitot "$command" --help | grep -qwF -- "$option" || echo "$command: $option is not in the manual"
	done
	grep -vx -e --help -e --parameter page | while read -r option; do
		grep -qxF -- "$option" table || echo "$command: $option is only in the manual"
	done
done
