"""The rules of the registry. Each operation owns its transaction and takes one `now`."""
