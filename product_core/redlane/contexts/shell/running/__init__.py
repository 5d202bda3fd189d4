"""The guarded shell at work: the programs, the shims, the terminal."""
