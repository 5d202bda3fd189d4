"""The policy fields that a match type adds, as rows of a table."""

from redlane.model.field import Field, Kind
from redlane.model.matching import MatchType
from redlane.policies.fields import POLICY, Table

__all__ = ["own_fields"]


def own_fields(match_type: MatchType) -> Table:
    """The fields by name; of those that are mere names, any value will do.

    What the policy format has stays as it is there.
    """
    rows = (
        each if isinstance(each, Field) else Field(each, Kind.ANY, "")
        for each in match_type.fields
    )
    return {each.name: each for each in rows if each.name not in POLICY}
