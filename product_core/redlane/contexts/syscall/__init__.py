"""System calls of a session: as content, and as what its supervisor judges."""
