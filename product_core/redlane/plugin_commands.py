"""The commands of plugins: found by the names of entry points, imported one at a time.

`redlane NAME` looks here only when Redlane itself has no command of that name, so that
no plugin slows a built-in one down or takes its place.
"""

import contextlib
import sys
from collections.abc import Collection, Iterator
from dataclasses import replace

from redlane.errors import UsageError
from redlane.model.commands import CommandGroup
from redlane.model.plugin_api import COMMANDS_GROUP
from redlane.plugin_points import (
    Found,
    PluginReport,
    entry_points_of,
    one_line,
    report_of,
)
from redlane.plugin_shapes import command_problem
from redlane.plugins import answer_of, hooks_of

__all__ = ["command_reports", "load_command"]

_Point = tuple[PluginReport, CommandGroup | None]


def load_command(name: str) -> CommandGroup:
    """The command of a plugin; raises UsageError when it cannot be used."""
    points, _ = entry_points_of(COMMANDS_GROUP)
    loaded = [_load(each) for each in points if each[1].name == name]
    if len(loaded) > 1:
        raise UsageError(f"the command {name!r} is {_offered_twice(loaded)}")
    for report, command in loaded:
        if command is not None:
            return command
        raise UsageError(
            f"the command {name!r} of {report.distribution} cannot be used: "
            f"{report.error}"
        )
    raise UsageError(f"no plugin has a command {name!r}")


def command_reports(built_in: Collection[str]) -> Iterator[PluginReport]:
    """Every command that plugins announce, or why it cannot be used."""
    points, torn = entry_points_of(COMMANDS_GROUP)
    yield from torn
    for point in points:
        report, _ = _load(point)
        name = report.name
        alike = [_load(each) for each in points if each[1].name == name]
        if name in built_in:
            taken = "Redlane has a command of that name, which is the one that runs"
            report = replace(report, commands=(), error=taken)
        elif len(alike) > 1:
            report = replace(
                report, commands=(), error=f"it is {_offered_twice(alike)}"
            )
        yield report


def _load(point: "Found") -> _Point:
    """One command, or the report why not.

    This is a fail-closed boundary: a plugin that misbehaves costs its own command.
    """
    distribution, entry_point = point
    report = report_of(distribution, entry_point.name)
    try:
        # What a plugin prints must not mix with what a command prints.
        with contextlib.redirect_stdout(sys.stderr):
            wanted, hooks = hooks_of(entry_point.load())
            offered = answer_of(hooks.redlane_commands, command_problem)
    except (Exception, SystemExit) as error:  # noqa: BLE001  # a plugin may raise anything
        return replace(report, error=one_line(error)), None
    named = [each for each in offered if each.name == entry_point.name]
    if len(named) != 1:
        wrong = f"its hook redlane_commands offers no one command {entry_point.name!r}"
        return replace(report, error=wrong), None
    return replace(report, api=wanted, commands=(named[0].name,)), named[0]


def _offered_twice(loaded: list[_Point]) -> str:
    owners = " and by ".join(report.distribution for report, _ in loaded)
    return f"offered twice, by {owners}: uninstall one of them"
