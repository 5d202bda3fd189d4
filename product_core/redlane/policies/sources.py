"""What is on disk: every policy, role and settings file, read once and parsed.

Directory files come in the order of their names, bytewise, and those that came from a
hub are among them; the legacy file only counts when there is no policy in them (policy
format: File locations). What trusted projects add comes last. A directory with a
broken file counts as holding some, so that damage never brings old rules back.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from redlane.errors import LoadError
from redlane.model.problem import Finding, Severity
from redlane.paths import Paths
from redlane.policies.documents import check_document
from redlane.policies.fields import LEGACY
from redlane.policies.files import Listing, Overlay
from redlane.policies.nearness import near_miss
from redlane.wire.strict_json import JsonError, parse_json

__all__ = ["MOST_MEMBERS", "Entry", "Sources", "read_file_entries", "read_sources"]

MOST_MEMBERS = 100_000
"""The largest number of policies or roles in one file."""

_ABSENT = object()
_ON_DISK = Overlay()


@dataclass(frozen=True, slots=True)
class Entry:
    """One member of a file, before anything of it is checked.

    `place` tells members of an array apart: "entry 3", or "" for a single object.
    """

    file: str
    place: str
    value: Any


@dataclass(slots=True)
class Sources:
    """All that was read; findings are kept apart by what they leave unknown."""

    policies: list[Entry] = field(default_factory=list)
    roles: list[Entry] = field(default_factory=list)
    settings: Any = None
    policy_findings: list[Finding] = field(default_factory=list)
    role_findings: list[Finding] = field(default_factory=list)
    settings_findings: list[Finding] = field(default_factory=list)


def read_sources(paths: Paths, overlay: Overlay = _ON_DISK) -> Sources:
    """Read everything that `paths` names."""
    sources = Sources()
    settings = _read(paths.settings, sources.settings_findings, may_be_absent=True)
    sources.settings = {} if settings is _ABSENT else settings
    of_policies = [paths.policies]
    if overlay.instead or os.path.isdir(paths.policies):  # noqa: PTH112  # which raises nothing
        of_policies.append(paths.hub_policies)
    _read_directories(of_policies, overlay, sources.policies, sources.policy_findings)
    errors = any(each.severity is Severity.ERROR for each in sources.policy_findings)
    if not sources.policies and not errors:
        _read_legacy(paths.legacy_policies, sources)
    _read_directories([paths.roles], overlay, sources.roles, sources.role_findings)
    _read_projects(paths.projects, overlay, sources)
    return sources


def _read_directories(
    directories: Iterable[Path],
    overlay: Overlay,
    entries: list[Entry],
    findings: list[Finding],
) -> None:
    listings = [_listing(each, overlay, findings) for each in directories]
    found = [path for listing in listings for path in listing.files]
    for path in sorted(found, key=os.fsencode):
        entries.extend(read_file_entries(path, findings, overlay))
    findings.extend(
        Finding(Severity.WARNING, str(path), "", f"not read: {_why_ignored(path)}")
        for listing in listings
        for path in listing.ignored
    )


def _listing(directory: Path, overlay: Overlay, findings: list[Finding]) -> Listing:
    try:
        return overlay.list_json(directory)
    except LoadError as error:
        findings.append(Finding(Severity.ERROR, str(directory), "", str(error)))
        return Listing(())


def read_file_entries(
    path: Path, findings: list[Finding], overlay: Overlay = _ON_DISK
) -> Iterable[Entry]:
    """The members of one file; what is wrong with it is added to `findings`."""
    value = _read(path, findings, overlay)
    return () if value is _ABSENT else _members(path, value, findings)


def _why_ignored(path: Path) -> str:
    if path.name.startswith("."):
        return "hidden files are editors' leftovers"
    return "the name must end in .json, in small letters"


def _read(
    path: Path,
    findings: list[Finding],
    overlay: Overlay = _ON_DISK,
    *,
    may_be_absent: bool = False,
) -> Any:  # noqa: ANN401  # any JSON value
    """The value of a file; _ABSENT when there is none, or an error was noted."""
    try:
        if may_be_absent and _is_absent(path):
            return _ABSENT
        return parse_json(overlay.read(path))
    except (LoadError, JsonError) as error:
        findings.append(Finding(Severity.ERROR, str(path), "", str(error)))
        return _ABSENT


def _is_absent(path: Path) -> bool:
    """Whether nothing has this name; a link to nothing is something."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False  # reading it will tell why
    return False


def _members(
    path: Path,
    value: Any,  # noqa: ANN401  # any JSON value
    findings: list[Finding],
) -> Iterable[Entry]:
    if not isinstance(value, list):
        return [Entry(str(path), "", value)]
    if len(value) > MOST_MEMBERS:
        many = f"more than {MOST_MEMBERS} members: split the file"
        findings.append(Finding(Severity.ERROR, str(path), "", many))
        return []
    return [
        Entry(str(path), f"entry {number}", member)
        for number, member in enumerate(value, 1)
    ]


def _read_legacy(path: Path, sources: Sources) -> None:
    """The legacy file: an object, an array, or `{policies, roles}`."""
    value = _read(path, sources.policy_findings, may_be_absent=True)
    if value is _ABSENT:
        sources.role_findings.extend(sources.policy_findings)
    elif isinstance(value, dict) and _holds_both(value):
        sources.policy_findings.extend(
            Finding(each.problem.severity, str(path), "", each.problem.message)
            for each in check_document(LEGACY, (), value)
        )
        for name, entries, findings in (
            ("policies", sources.policies, sources.policy_findings),
            ("roles", sources.roles, sources.role_findings),
        ):
            if value.get(name) is not None:
                entries.extend(_members(path, value[name], findings))
    else:
        sources.policies.extend(_members(path, value, sources.policy_findings))


def _read_projects(directory: Path, overlay: Overlay, sources: Sources) -> None:
    """What projects add that a person has trusted; the legacy file counts as before."""
    findings: list[Finding] = []
    for path in _listing(directory, overlay, findings).files:
        value = _read(path, findings, overlay)
        if value is _ABSENT:
            continue
        if not isinstance(value, dict) or value.get("version") != 1:
            damaged = f"damaged: redlane trust --revoke {path.stem} removes it"
            findings.append(Finding(Severity.ERROR, str(path), "", damaged))
            continue
        sources.policies.extend(_members(path, value.get("policies") or [], findings))
        sources.roles.extend(_members(path, value.get("roles") or [], findings))
    sources.policy_findings.extend(findings)
    sources.role_findings.extend(findings)


def _holds_both(value: dict[str, Any]) -> bool:
    """Whether an object is the frame of policies and roles, however misspelled."""
    frame = ("policies", "roles")
    return "id" not in value and any(near_miss(key, frame) for key in value)
