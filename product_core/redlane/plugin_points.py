"""Where plugins are: the entry points of a group, with all that metadata may lack.

Nothing of a plugin is imported here.
"""

import re
from dataclasses import dataclass
from importlib.metadata import Distribution, EntryPoint, distributions, entry_points

from redlane.model.commands import is_command_name
from redlane.model.plugin_api import API_VERSION, COMMANDS_GROUP

__all__ = [
    "Found",
    "PluginReport",
    "command_names",
    "entry_points_of",
    "one_line",
    "report_of",
    "told",
]


@dataclass(frozen=True, slots=True)
class PluginReport:
    """One entry point: what it offers, or the `error` for which it was left out.

    `api` is the version of the plugin API that it asks for; "" where that is not known.
    """

    name: str
    distribution: str
    version: str
    location: str
    api: str = ""
    match_types: tuple[str, ...] = ()
    contexts: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()
    error: str | None = None


Found = tuple[Distribution, EntryPoint]
"""An entry point and what it belongs to."""


def entry_points_of(group: str) -> tuple[list[Found], list[PluginReport]]:
    """Each entry point of the group once: the distribution first on the path wins.

    A distribution whose entry points cannot be read is reported; then each is asked by
    itself, which takes longer.
    """
    torn: list[PluginReport] = []
    try:
        points = list(entry_points(group=group))
    except Exception:  # noqa: BLE001  # a file may hold anything; each is asked below
        points = _ask_each(torn, group)
    found = [(each.dist, each) for each in points if each.dist is not None]
    return sorted(found, key=lambda pair: (pair[1].name, told(pair[0], "Name"))), torn


def _ask_each(torn: list[PluginReport], group: str) -> list[EntryPoint]:
    """The entry points of the distributions that have sound ones; adds to `torn`."""
    points: list[EntryPoint] = []
    seen: set[str] = set()
    for distribution in distributions():
        name = told(distribution, "Name")
        canonical = re.sub(r"[-_.]+", "-", name).lower()
        if canonical in seen:
            continue
        seen.update({canonical} - {""})
        try:
            points += distribution.entry_points.select(group=group)
        except Exception as error:  # noqa: BLE001  # as above
            reason = f"its entry points cannot be read: {one_line(error)}"
            torn.append(report_of(distribution, name or "?", reason))
    return points


def command_names() -> dict[str, str]:
    """The commands that plugins announce, with the distributions."""
    points, _ = entry_points_of(COMMANDS_GROUP)
    return {
        each.name: told(distribution, "Name")
        for distribution, each in points
        if is_command_name(each.name)
    }


def report_of(
    distribution: Distribution, name: str, error: str | None = None
) -> PluginReport:
    """Where an entry point comes from; what it offers is not known yet."""
    return PluginReport(
        name=name,
        distribution=told(distribution, "Name"),
        version=told(distribution, "Version"),
        location=str(distribution.locate_file("")),
        error=error,
    )


def told(distribution: Distribution, field: str) -> str:
    """A field of the metadata, or nothing: an interrupted installation has none."""
    try:
        metadata = distribution.metadata
        return str(metadata[field]) if field in metadata else ""
    except Exception:  # noqa: BLE001  # a file may hold anything
        return ""


def one_line(error: BaseException) -> str:
    """What a plugin raised, in one line."""
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, ImportError) and error.name == "redlane.api":
        text += f": this Redlane has plugin API {API_VERSION}"
    return " ".join(text.split())
