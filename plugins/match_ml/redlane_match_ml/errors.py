"""What goes wrong with models, in words for whoever installed them."""

__all__ = ["ModelError", "NotScoredError", "SourceError"]


class ModelError(Exception):
    """A model is not there, not whole, or nothing that can be used."""


class SourceError(ModelError):
    """A model cannot be had from where it should come.

    `is_refused`: something is there, and says no. `is_told`: whoever was asked has told
    people why.
    """

    def __init__(
        self, message: str, *, is_refused: bool = False, is_told: bool = False
    ) -> None:
        """Keep whether the source was reached."""
        super().__init__(message)
        self.is_refused = is_refused
        self.is_told = is_told


class NotScoredError(Exception):
    """A text has no score: the model failed, or the time was up."""
