"""The text of a shell command, read as bash reads it: bytes become commands."""
