"""The command `redlane-hub`, a module a command group."""
