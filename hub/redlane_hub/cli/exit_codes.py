"""The exit codes of `redlane-hub`, by name."""

__all__ = ["BROKEN_PIPE", "ENDED", "OK", "REFUSED", "USAGE"]

OK = 0
REFUSED = 1
"""It was not done, or the answer is no; standard error says why."""
USAGE = 2
"""The command line is not one."""
ENDED = 128
"""And the number of the signal that ended it: 130 for Ctrl-C."""
BROKEN_PIPE = 141
"""Whoever read our output went away."""
