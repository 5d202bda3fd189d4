"""Whether the files that came from a hub are what they were."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from redlane.errors import LoadError
from redlane.model.problem import Finding, Severity
from redlane.paths import Paths
from redlane.policies.files import read_file
from redlane.sharing.documents import digest_of
from redlane.sharing.lock import Lock, read_lock

__all__ = ["differences", "findings_of"]


def differences(paths: Paths, lock: Lock) -> Iterator[tuple[str, str]]:
    """Each file that is not what was pulled, by its path, and what is wrong with it."""
    for path, digest in sorted(lock.files.items()):
        file = paths.home / path
        try:
            is_same = digest_of(read_file(file)) == digest
        except LoadError as error:
            yield str(file), str(error)
        else:
            if not is_same:
                yield str(file), "is not what was pulled: somebody has changed it"
    for file in _listed(paths.hub_policies):
        if f"policies/hub/{file.name}" not in lock.files:
            yield str(file), "did not come from a hub"
    for name, each in lock.artifacts.items():
        for needed in each.dependencies:
            if needed not in lock.artifacts:
                yield str(paths.hub_lock), f"{name} needs {needed}, which is not in it"


def _listed(directory: Path) -> list[Path]:
    """What is in a directory; one that cannot be read is told by the load."""
    with suppress(OSError):
        return sorted(directory.iterdir())
    return []


def findings_of(paths: Paths) -> list[Finding]:
    """The same, for whoever checks a home: a lock that does not load is one, too."""
    try:
        found = list(differences(paths, read_lock(paths.hub_lock)))
    except LoadError as error:
        file = str(paths.hub_lock)
        found = [(file, str(error).removeprefix(file).lstrip(": "))]
    return [Finding(Severity.WARNING, file, "", why) for file, why in found]
