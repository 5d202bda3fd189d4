"""What goes wrong with models, in words for whoever installed them."""

__all__ = ["ModelError", "NotScoredError"]


class ModelError(Exception):
    """A model is not there, not whole, or nothing that can be used."""


class NotScoredError(Exception):
    """A text has no score: the model failed, or the time was up."""
