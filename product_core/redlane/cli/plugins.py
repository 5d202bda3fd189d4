"""`redlane plugins`: which plugins were found, where, and what is wrong with them."""

import argparse
import sys
from dataclasses import replace

from redlane.cli import exit_codes
from redlane.cli.output import print_json, single_line
from redlane.cli.parser import Commands, add_command, add_group
from redlane.hookspecs import API_VERSION
from redlane.plugin_commands import command_reports
from redlane.plugin_points import PluginReport
from redlane.plugins import Plugins, find_plugins

__all__ = ["register"]


def register(commands: Commands) -> None:
    """Add `redlane plugins list`."""
    group = add_group(
        commands,
        "plugins",
        summary="list the plugins that were found",
        examples="redlane plugins list --json",
    )
    parser = add_command(
        group,
        "list",
        _list,
        summary="list the plugins that were found",
        description="""
            List each plugin with the match types, contexts and commands that it adds,
            its distribution, version, plugin API and place. A plugin that cannot be
            used is listed with the reason; policies of its match type do not load.
        """,
        examples="redlane plugins list --json",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _list(arguments: argparse.Namespace) -> int:
    """Print what was found; a broken plugin is part of the answer, not a failure."""
    from redlane.cli.main import COMMANDS  # noqa: PLC0415  # main imports us

    plugins = find_plugins()
    commands = command_reports({each.name for each in COMMANDS})
    # What cannot be read at all is found in each group.
    reports = tuple(dict.fromkeys((*plugins.reports, *commands)))
    plugins = replace(plugins, reports=reports)
    if arguments.json:
        print_json(_described(plugins))
    else:
        for line in _lines(plugins):
            sys.stdout.write(f"{single_line(line)}\n")
    return exit_codes.OK


def _described(plugins: Plugins) -> dict[str, object]:
    """The plugins as JSON has them."""
    return {
        "api": API_VERSION,
        "plugins": [
            {
                "name": each.name,
                "distribution": each.distribution,
                "version": each.version,
                "location": each.location,
                "api": each.api,
                "match_types": list(each.match_types),
                "contexts": list(each.contexts),
                "commands": list(each.commands),
                "reviewers": list(each.reviewers),
                "error": each.error,
            }
            for each in plugins.reports
        ],
        "conflicts": list(plugins.conflicts),
    }


def _lines(plugins: Plugins) -> list[str]:
    """The plugins for people, one a line, and what is wrong as a whole."""
    lines = [_line(each) for each in plugins.reports]
    if not lines:
        lines = ["no plugin is installed: every policy has an unknown type"]
    return [*lines, *(f"error: {each}" for each in plugins.conflicts)]


def _line(report: PluginReport) -> str:
    release = f"{report.distribution} {report.version}".strip()
    api = f"plugin API {report.api}" if report.api else ""
    origin = ", ".join(filter(None, (release, api, report.location)))
    if report.error is not None:
        return f"{report.name}: error: {report.error} ({origin})"
    contexts = (f"context {each}" for each in report.contexts)
    commands = (f"command {each}" for each in report.commands)
    reviewers = (f"reviewer {each}" for each in report.reviewers)
    offers = [*report.match_types, *contexts, *commands, *reviewers]
    offered = ", ".join(offers) or "nothing"
    return f"{report.name}: {offered} ({origin})"
