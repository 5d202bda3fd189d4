"""The jury of the yellow lane: programs, models and plugins that vote on what is held.

Each juror is asked in a process of its own, in its own time; whatever is no vote is a
vote to block. The contract between Redlane and a juror is one JSON object each way.
"""

from redlane.jury.panel import MOST_AT_ONCE, Jury

__all__ = ["MOST_AT_ONCE", "Jury"]
