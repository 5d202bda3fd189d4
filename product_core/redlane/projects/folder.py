"""What the `.redlane` of a directory says, before anybody has trusted it."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redlane.errors import LoadError
from redlane.model.problem import Finding
from redlane.paths import Paths
from redlane.policies.files import list_json

__all__ = ["FOLDER", "Said", "folder_of", "read_folder"]

FOLDER = ".redlane"
_LARGEST = 4 * 1024 * 1024
"""Bytes of policies or roles: each start of a session in the project reads them."""

_POLICIES, _ROLES = "policies", "roles"


@dataclass(frozen=True, slots=True)
class Said:
    """The policies and roles of a folder, as they are written."""

    policies: tuple[Any, ...]
    roles: tuple[Any, ...]


def folder_of(directory: Path, paths: Paths) -> Path | None:
    """The nearest directory, from here upwards, that has policies or roles to trust.

    A home of Redlane's is none: what is in it counts already.
    """
    own = {os.path.realpath(each) for each in (paths.home, Paths.system().home)}
    for each in (directory, *directory.parents):
        folder = each / FOLDER
        if os.path.realpath(folder) in own:
            continue
        if any(os.path.isdir(folder / name) for name in (_POLICIES, _ROLES)):  # noqa: PTH112  # which raises nothing
            return each
    return None


def read_folder(directory: Path) -> Said:
    """All files in `.redlane/policies` and `.redlane/roles`; raises LoadError."""
    folder = directory / FOLDER
    return Said(*(tuple(_members(folder / each)) for each in (_POLICIES, _ROLES)))


def _members(directory: Path) -> Iterable[Any]:
    # Imported on use: each start of a session looks for a folder, and few have one.
    from redlane.policies.sources import read_file_entries  # noqa: PLC0415

    findings: list[Finding] = []
    try:
        listing = list_json(directory)
        size = sum(each.stat().st_size for each in listing.files)
    except (LoadError, OSError) as error:
        raise LoadError(f"{directory}: {error}") from error
    if size > _LARGEST:
        raise LoadError(f"{directory}: more than {_LARGEST // 1024 // 1024} MiB")
    found = [
        entry.value
        for file in listing.files
        for entry in read_file_entries(file, findings)
    ]
    for each in findings:
        raise LoadError(f"{each.file}: {each.message}")
    return found
