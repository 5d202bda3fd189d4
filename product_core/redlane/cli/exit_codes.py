"""The exit codes of `redlane`, by name."""

__all__ = [
    "BROKEN_PIPE",
    "FINDING",
    "INTERRUPTED",
    "NOT_RUNNING",
    "OK",
    "UNREACHABLE",
    "USAGE",
]

OK = 0
FINDING = 1
"""The answer is a finding: a Block, a load error, a failed check."""
USAGE = 2
"""The question cannot be answered: wrong usage, or files that do not load."""
NOT_RUNNING = 3
"""The command needs a running daemon and there is none."""
UNREACHABLE = 4
"""A hub cannot be reached, or makes no sense."""
INTERRUPTED = 130
"""Ended by Ctrl-C."""
BROKEN_PIPE = 141
"""Whoever read our output went away."""
