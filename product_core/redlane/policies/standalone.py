"""Policies that are not in force, such as those that are to be published."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from redlane.model.problem import Finding, Severity
from redlane.plugins import Plugins
from redlane.policies.parsing import parse_policy
from redlane.policies.sources import Entry, read_file_entries

__all__ = ["read_policies"]


def read_policies(
    files: Sequence[Path], plugins: Plugins
) -> tuple[list[Entry], list[Finding]]:
    """The policies of some files, and all that is wrong with them."""
    findings: list[Finding] = []
    entries = [each for path in files for each in read_file_entries(path, findings)]
    return entries, [*findings, *_problems(entries, plugins)]


def _problems(entries: Sequence[Entry], plugins: Plugins) -> Iterator[Finding]:
    seen: dict[str, Entry] = {}
    for order, entry in enumerate(entries):
        parsed = parse_policy(entry, order, plugins)
        yield from parsed.findings
        if parsed.id and parsed.id in seen:
            twice = f"{seen[parsed.id].file} has this id already"
            yield Finding(Severity.ERROR, entry.file, parsed.id, twice)
        seen.setdefault(parsed.id, entry)
