"""The role of the project that one is in, and what of it does not count."""

import sys
from contextlib import suppress
from pathlib import Path

from redlane.cli.output import print_note
from redlane.paths import Paths
from redlane.projects.folder import FOLDER, folder_of
from redlane.projects.project import Project, project_of

__all__ = ["role_of_project"]


def role_of_project(paths: Paths) -> str | None:
    """The role for sessions that begin here, if a person has trusted a project for it.

    What a directory says, and nobody has trusted, is told. Raises LoadError for what is
    kept of projects and damaged.
    """
    with suppress(FileNotFoundError):  # the directory may be gone
        here = Path.cwd()
        project = project_of(here, paths)
        _tell_untrusted(here, project, paths)
        if project is not None and project.role is not None:
            if sys.stderr.isatty():
                print_note(f"role {project.role}, of the project {project.directory}")
            return project.role
    return None


def _tell_untrusted(here: Path, project: Project | None, paths: Paths) -> None:
    directory = folder_of(here, paths)
    if directory is None:
        return
    # Imported on use: few projects have any.
    from redlane.projects.trusting import is_as_trusted  # noqa: PLC0415

    if project is None or project.directory != str(directory):
        what = "is not trusted, so nothing in it counts: redlane trust shows it"
    elif not is_as_trusted(project):
        what = "has changed, and counts as it was trusted: redlane trust shows how"
    else:
        return
    print_note(f"{directory / FOLDER} {what}")
