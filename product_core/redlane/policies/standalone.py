"""Policies that are not in force, such as those that are to be published."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from redlane.model.problem import Finding, Severity
from redlane.paths import Paths
from redlane.plugins import Plugins
from redlane.policies.parsing import parse_policy
from redlane.policies.plugin_settings import settings_tables, with_settings
from redlane.policies.ruleset import RuleSet
from redlane.policies.settings import parse_settings
from redlane.policies.sources import Entry, read_file_entries, read_sources

__all__ = ["read_policies", "ruleset_of"]


def read_policies(
    files: Sequence[Path], plugins: Plugins
) -> tuple[list[Entry], list[Finding]]:
    """The policies of some files, and all that is wrong with them."""
    findings: list[Finding] = []
    entries = [each for path in files for each in read_file_entries(path, findings)]
    return entries, [*findings, *_problems(entries, plugins)]


def ruleset_of(entries: Sequence[Entry], plugins: Plugins, paths: Paths) -> RuleSet:
    """The policies among them that load, without roles; with the settings of a home."""
    given = read_sources(paths).settings
    settings, _ = parse_settings(given, str(paths.settings), settings_tables(plugins))
    plugins = with_settings(plugins, settings.plugins, paths.home)
    parsed = (parse_policy(each, order, plugins) for order, each in enumerate(entries))
    found = [each.policy for each in parsed if each.policy]
    return RuleSet(found, (), plugins.match_types, "")


def _problems(entries: Sequence[Entry], plugins: Plugins) -> Iterator[Finding]:
    seen: dict[str, Entry] = {}
    for order, entry in enumerate(entries):
        parsed = parse_policy(entry, order, plugins)
        yield from parsed.findings
        if parsed.id and parsed.id in seen:
            twice = f"{seen[parsed.id].file} has this id already"
            yield Finding(Severity.ERROR, entry.file, parsed.id, twice)
        seen.setdefault(parsed.id, entry)
