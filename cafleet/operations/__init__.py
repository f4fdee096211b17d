"""What spans the registry, the panes and the agents, with what each undoes when it fails."""
