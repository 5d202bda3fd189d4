"""What a field of a file may hold: the rows of the tables of policies and settings."""

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Field", "Kind"]


class Kind(StrEnum):
    """The form of a field's value, in the words of an error message."""

    STRING = "a string"
    NAME = "a string that is not empty and has no control characters"
    STRINGS = "an array of strings that are not empty"
    STRING_OR_STRINGS = "a string or an array of strings"
    BOOLEAN = "true or false"
    NUMBER = "a number"
    INTEGER = "a whole number"
    SIZE = 'a size such as "8MB" (B, KB, MB or GB)'
    DIRECTORY = "the path of a directory, absolute or below Redlane's own"
    ADDRESS = 'a loopback address such as "127.0.0.1:8080"'
    FILE = "the path of a file, absolute or below Redlane's own"
    JURY = "an array of objects, each with a `name` and a `type`"
    WEBHOOK = "an object with a `url` and a `secret`"
    STRING_MAP = "an object whose values are strings that are not empty"
    OBJECT = "an object"
    ANY = "any value"


@dataclass(frozen=True, slots=True)
class Field:
    """One field: its form, whether it must be there, and what it is for.

    `choices` are the only strings allowed. Numbers lie within `minimum` and `maximum`;
    `positive` leaves zero out. `types` are the match types that use the field; empty
    means all. `default` is what an absent field stands for.
    """

    name: str
    kind: Kind
    help: str
    required: bool = False
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    positive: bool = False
    types: tuple[str, ...] = ()
    default: object = None
