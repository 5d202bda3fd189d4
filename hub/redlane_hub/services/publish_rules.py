"""What must be true of an artifact by itself, before anything else is looked at.

One function a rule of the specification's list, so that `publishing` can take them in
its order; each raises InvalidInputError naming the field and its limit.
"""

import json
import re
from collections.abc import Iterable
from enum import StrEnum
from typing import TypeVar

from redlane_hub.errors import InvalidInputError
from redlane_hub.model import ArtifactType, Dependency, Visibility
from redlane_hub.wire.forms import JsonObject
from redlane_hub.wire.publishing import (
    LONGEST_DESCRIPTION,
    LONGEST_NAME,
    LONGEST_TAG,
    LONGEST_VERSION,
    MOST_DEPENDENCIES,
    MOST_TAGS,
    NAME_PATTERN,
    VERSION_PATTERN,
    DependencyForm,
)
from redlane_hub.wire.strictjson import parse_json

__all__ = [
    "check_dependencies",
    "check_description",
    "check_name",
    "check_schema_size",
    "check_set",
    "check_tags",
    "check_version",
    "content_bytes",
    "distinct_dependencies",
    "read_artifact_type",
    "read_visibility",
]

Choice = TypeVar("Choice", bound=StrEnum)

_NAME = re.compile(NAME_PATTERN.removesuffix("$"))
_VERSION = re.compile(VERSION_PATTERN.removesuffix("$"))


def check_name(name: str) -> None:
    """A letter or digit, then letters, digits and three signs."""
    if not (len(name) <= LONGEST_NAME and _NAME.fullmatch(name)):
        raise InvalidInputError(
            f"'name' must be 1 to {LONGEST_NAME} characters: a letter or digit, then "
            "letters, digits, '-', '_' and '.'"
        )


def check_version(version: str) -> None:
    """As a name, with one sign more."""
    if not (len(version) <= LONGEST_VERSION and _VERSION.fullmatch(version)):
        raise InvalidInputError(
            f"'version' must be 1 to {LONGEST_VERSION} characters: a letter or digit, "
            "then letters, digits, '-', '_', '.' and '+'"
        )


def check_tags(tags: tuple[str, ...]) -> None:
    """How many were sent, duplicates included, and how long each is."""
    if len(tags) > MOST_TAGS:
        raise InvalidInputError(f"'tags' must be at most {MOST_TAGS}, not {len(tags)}")
    for place, tag in enumerate(tags):
        if not 1 <= len(tag) <= LONGEST_TAG:
            raise InvalidInputError(
                f"'tags[{place}]' must have 1 to {LONGEST_TAG} characters, "
                f"not {len(tag)}"
            )


def check_description(description: str | None) -> None:
    """How long it is."""
    if description is not None and len(description) > LONGEST_DESCRIPTION:
        raise InvalidInputError(
            f"'description' must have at most {LONGEST_DESCRIPTION} characters, "
            f"not {len(description)}"
        )


def content_bytes(content: str, most: int) -> bytes:
    """The bytes to keep, of at most so many bytes of strict JSON."""
    data = content.encode()
    if len(data) > most:
        raise InvalidInputError(
            f"'content' must have at most {most} bytes, not {len(data)}"
        )
    try:
        parse_json(content)
    except InvalidInputError as error:
        raise InvalidInputError(f"'content' is {error}") from None
    return data


def check_schema_size(schema: JsonObject, most: int) -> None:
    """As large as a content: it is served with every fetch."""
    size = len(json.dumps(schema, ensure_ascii=False).encode())
    if size > most:
        raise InvalidInputError(f"'schema' must have at most {most} bytes, not {size}")


def read_visibility(text: str) -> Visibility:
    """One of the three."""
    return _choice(Visibility, "visibility", text)


def read_artifact_type(text: str) -> ArtifactType:
    """One of the two."""
    return _choice(ArtifactType, "artifact_type", text)


def check_set(
    artifact_type: ArtifactType, dependencies: tuple[Dependency, ...]
) -> None:
    """A set groups something."""
    if artifact_type is ArtifactType.SET and not dependencies:
        raise InvalidInputError("'dependencies': a set needs at least one")


def check_dependencies(dependencies: tuple[Dependency, ...]) -> None:
    """How many, duplicates left out."""
    if len(dependencies) > MOST_DEPENDENCIES:
        raise InvalidInputError(
            f"'dependencies' must be at most {MOST_DEPENDENCIES}, "
            f"not {len(dependencies)}"
        )


def distinct_dependencies(forms: Iterable[DependencyForm]) -> tuple[Dependency, ...]:
    """The dependencies in their order, exact duplicates once."""
    made = (Dependency(each.name, each.version, each.required) for each in forms)
    return tuple(dict.fromkeys(made))


def _choice(kind: type[Choice], field: str, text: str) -> Choice:
    if text not in set(kind):
        raise InvalidInputError(f"'{field}' must be one of {', '.join(kind)}")
    return kind(text)
