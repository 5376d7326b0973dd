pitot completion zsh | head -n 1
pitot completion fish | grep -q "complete" && echo fish
pitot completion tcsh
