"""What becomes of sessions: opened, changed, ended, and what of their calls is held."""
