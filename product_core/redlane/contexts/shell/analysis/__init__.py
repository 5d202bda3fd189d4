"""Every command that a text may run: the walk through what the reader found."""
