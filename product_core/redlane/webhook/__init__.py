"""Tells an address of what is held, and of what became of it (`review.webhook`).

Whoever is told decides nothing: that is for people at the daemon, and for its jury.
"""

from redlane.webhook.sending import Webhooks

__all__ = ["Webhooks"]
