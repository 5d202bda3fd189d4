"""A project that is trusted, as it is kept: with all that was trusted, word for word.

What counts is this copy in the home, which no session can change, and not what the
project's directory says by now.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redlane.errors import LoadError
from redlane.paths import Paths
from redlane.policies.files import list_json, read_file
from redlane.wire.strict_json import JsonError, parse_json

__all__ = ["Project", "project_of", "projects_of"]


@dataclass(frozen=True, slots=True)
class Project:
    """One project: its name, where it is, and what it adds to policies and roles.

    `role` is what sessions that begin in it have, where no other is asked for.
    """

    name: str
    directory: str
    role: str | None
    policies: tuple[Any, ...]
    roles: tuple[Any, ...]

    def file(self, paths: Paths) -> Path:
        """Where it is kept."""
        return paths.projects / f"{self.name}.json"

    def as_bytes(self) -> bytes:
        """The file that `projects_of` reads, and with it every load of the home."""
        document = {
            "version": 1,
            "directory": self.directory,
            "role": self.role,
            "policies": self.policies,
            "roles": self.roles,
        }
        return f"{json.dumps(document, indent=2, ensure_ascii=False)}\n".encode()


def projects_of(paths: Paths) -> Iterator[Project]:
    """The projects that are trusted; raises LoadError, which names the file."""
    try:
        files = list_json(paths.projects).files
    except LoadError as error:
        raise LoadError(f"{paths.projects}: {error}") from error
    for file in files:
        try:
            yield _project(file.stem, parse_json(read_file(file)))
        except (LoadError, JsonError) as error:
            raise LoadError(f"{file}: {error}") from error


def project_of(directory: Path, paths: Paths) -> Project | None:
    """The trusted project that a directory is in, the innermost; raises LoadError."""
    above = [os.fspath(each) for each in (directory, *directory.parents)]
    within = [each for each in projects_of(paths) if each.directory in above]
    return max(within, key=lambda each: len(each.directory), default=None)


def _project(name: str, value: Any) -> Project:  # noqa: ANN401  # any JSON value
    if isinstance(value, dict) and value.get("version") == 1:
        directory, role = value.get("directory"), value.get("role")
        policies, roles = value.get("policies"), value.get("roles")
        if (
            isinstance(directory, str)
            and isinstance(role, str | None)
            and isinstance(policies, list)
            and isinstance(roles, list)
        ):
            return Project(name, directory, role, tuple(policies), tuple(roles))
    raise LoadError(f"damaged: redlane trust --revoke {name} removes it")
