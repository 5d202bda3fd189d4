"""The exit codes of `redlane-hub`, by name."""

__all__ = ["BROKEN_PIPE", "INTERRUPTED", "OK", "REFUSED", "USAGE"]

OK = 0
REFUSED = 1
"""It was not done, or the answer is no; standard error says why."""
USAGE = 2
"""The command line is not one."""
INTERRUPTED = 130
"""Ended by Ctrl-C."""
BROKEN_PIPE = 141
"""Whoever read our output went away."""
