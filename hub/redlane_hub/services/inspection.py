"""Whether a backup can be relied on: everything in it is read and checked."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from redlane_hub.errors import OperatorError
from redlane_hub.security.secrets import kept_secrets
from redlane_hub.security.signatures import content_hash, verifies
from redlane_hub.store import inspection
from redlane_hub.store.copies import Progress, opened_read_only
from redlane_hub.store.existing import require_file, telling_clearly
from redlane_hub.store.inspection import StoredContent

__all__ = ["Findings", "inspect"]

_MOST_PROBLEMS = 100


@dataclass(frozen=True, slots=True)
class Findings:
    """What was found in a database: how much of what, and what is wrong with it."""

    counts: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def inspect(path: Path, progress: Progress) -> Findings:
    """Check a database without changing it; at most 100 problems are told.

    Its structure, its references, its version, its rows, every artifact's content
    against its hash and its signature, and the secrets that are kept beside it. Raises
    OperatorError where there is no file.
    """
    require_file(path)
    findings = Findings()
    try:
        with telling_clearly(path), opened_read_only(path) as connection:
            found = _problems(connection, progress, findings.counts)
            findings.problems.extend(itertools.islice(found, _MOST_PROBLEMS))
    except OperatorError as error:
        findings.problems.append(str(error))
    try:
        kept_secrets(path)
    except OperatorError as error:
        findings.problems.append(str(error))
    return findings


def _problems(
    connection: inspection.Connection, progress: Progress, counts: dict[str, int]
) -> Iterator[str]:
    steps = list(inspection.step_problems(connection))
    yield from steps
    if steps:
        return
    yield from inspection.list_problems(connection)
    counts.update(inspection.counts(connection))
    for done, stored in enumerate(inspection.contents(connection), 1):
        progress(done, counts["artifacts"])
        yield from _content_problems(stored)


def _content_problems(stored: StoredContent) -> Iterator[str]:
    if stored.content is None or stored.content_hash is None:
        yield f"{stored.label}: has no content"
    elif content_hash(stored.content) != stored.content_hash:
        yield f"{stored.label}: its content does not match its hash"
    elif not _signature_fits(stored.content_hash, stored):
        yield f"{stored.label}: its signature does not fit its content"


def _signature_fits(recorded_hash: str, stored: StoredContent) -> bool:
    """True too where there is no signature, or no key that could check it."""
    if stored.signature is None or stored.public_key is None:
        return True
    return verifies(stored.public_key, recorded_hash, stored.signature)
