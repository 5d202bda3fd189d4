"""The match type MlClassifier: content scored by a model that is installed here."""

from redlane.api import PreparedMatchType, hookimpl
from redlane_match_ml.match_type import MlClassifierType

__all__ = ["redlane_match_types"]


@hookimpl
def redlane_match_types() -> tuple[PreparedMatchType, ...]:
    """Offer the match type to the plugin host."""
    return (MlClassifierType(),)
