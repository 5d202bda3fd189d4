"""What comes of trusting a project, or of trusting it no more."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redlane.atomic import write_atomically
from redlane.errors import LoadError, UsageError
from redlane.paths import Paths
from redlane.policies.files import Overlay
from redlane.projects.folder import FOLDER, Said, read_folder
from redlane.projects.naming import named_for
from redlane.projects.project import Project, projects_of
from redlane.sharing.changes import Change, change_of
from redlane.sharing.errors import RefusedError
from redlane.sharing.journal import told
from redlane.sharing.names import NAME

__all__ = ["Trusting", "carry_out", "forgetting", "is_as_trusted", "trusting"]

_ODD = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class Trusting:
    """A project as it was and as it is to be, and how policies and roles change.

    `after` is None where it is trusted no more.
    """

    before: Project | None
    after: Project | None
    policies: Change
    roles: Change

    @property
    def is_any(self) -> bool:
        """Whether anything changes."""
        return self.before != self.after

    def overlay(self, paths: Paths) -> Overlay:
        """The home as it would be."""
        return Overlay(_files(self, paths))


def trusting(
    directory: Path, paths: Paths, name: str | None = None, role: str | None = None
) -> Trusting:
    """What trusting what a directory's `.redlane` says now comes to.

    `role` is the one, of the project's own, that its sessions have; without it the only
    one. Raises LoadError for files that do not load, UsageError for names that cannot
    be, and RefusedError for a name that another project has.
    """
    known = list(projects_of(paths))
    here = str(directory)
    if not here.isprintable():
        raise UsageError(f"{here!r}: no name for a project's directory: rename it")
    before = next((each for each in known if each.directory == here), None)
    name = name or (
        before.name if before else _ODD.sub("-", directory.name).strip("-.")
    )
    if not NAME.fullmatch(name):
        raise UsageError(f"{name!r} is no name for a project: say --name NAME")
    for each in known:
        if each.name == name and each.directory != here:
            raise RefusedError(
                f"{each.directory} is trusted as {name!r} already: say --name NAME"
            )
    said = named_for(name, read_folder(directory))
    if not said.roles:
        raise LoadError(
            f"{directory / FOLDER / 'roles'}: there is no role, and no policy counts "
            'that is in none: write one, such as {"name": "here", "extends": '
            '"developer", "policies": []}'
        )
    after = Project(name, here, _chosen(said, name, role), said.policies, said.roles)
    if before is not None and before.name != name:
        raise RefusedError(
            f"{here} is trusted as {before.name!r}: redlane trust --revoke comes first"
        )
    return _changing(before, after)


def forgetting(named: str, directory: Path, paths: Paths) -> Trusting:
    """What it comes to when a project, by its name or directory, is trusted no more.

    Raises UsageError where there is none.
    """
    by_name = Project(named, "", None, (), ())
    if NAME.fullmatch(named) and by_name.file(paths).exists():
        with suppress(LoadError):  # what is damaged has to go as well
            every = projects_of(paths)
            by_name = next((each for each in every if each.name == named), by_name)
        return _changing(by_name, None)
    for each in projects_of(paths):
        if str(directory) == each.directory:
            return _changing(each, None)
    raise UsageError(f"{named}: no such project is trusted: redlane trust --list")


def is_as_trusted(project: Project) -> bool:
    """Whether the project's directory says what was trusted."""
    try:
        said = named_for(project.name, read_folder(Path(project.directory)))
    except LoadError:
        return False
    return said == Said(project.policies, project.roles)


def carry_out(plan: Trusting, paths: Paths) -> None:
    """Have it on the disk: whole or not at all; raises RedlaneError."""
    with told(paths.projects):
        for file, data in _files(plan, paths).items():
            if data is None:
                file.unlink()
            else:
                write_atomically(file, data, is_public=paths.is_system)


def _files(plan: Trusting, paths: Paths) -> Mapping[Path, bytes | None]:
    if plan.after is not None:
        return {plan.after.file(paths): plan.after.as_bytes()}
    return {} if plan.before is None else {plan.before.file(paths): None}


def _chosen(said: Said, project: str, role: str | None) -> str | None:
    names = [each["name"] for each in said.roles if isinstance(each, dict)]
    if role is None:
        return str(names[0]) if len(names) == 1 else None
    for name in names:
        if name in (role, f"{project}/{role}"):
            return str(name)
    listed = ", ".join(map(str, names))
    raise UsageError(f"the project has no role {role!r}, but {listed}")


def _changing(before: Project | None, after: Project | None) -> Trusting:
    old, new = before or _NONE, after or _NONE
    name = (after or before or _NONE).name
    return Trusting(
        before,
        after,
        change_of(
            name, old=_by("id", old.policies, name), new=_by("id", new.policies, name)
        ),
        change_of(
            name, old=_by("name", old.roles, name), new=_by("name", new.roles, name)
        ),
    )


_NONE = Project("", "", None, (), ())


def _by(
    key: str, documents: Sequence[Any], project: str
) -> Mapping[str, Mapping[str, Any]]:
    """Policies or roles by their names; raises LoadError."""
    found: dict[str, Mapping[str, Any]] = {}
    for each in documents:
        name = each.get(key) if isinstance(each, dict) else None
        if not isinstance(name, str):
            raise LoadError(f"{project}: there is something without `{key}` in it")
        if name in found:
            raise LoadError(f"{project}: there are two with the {key} {name!r} in it")
        found[name] = each
    return found
