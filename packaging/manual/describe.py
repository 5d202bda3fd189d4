"""Describes the commands of a program as JSON, in the environment that has them.

`python3 describe.py redlane` runs in the interpreter where the program is installed, so
it imports nothing but that program and prints `null` when it is not there. What is
printed holds no layout: the pages are written elsewhere.
"""

import argparse
import json
import sys
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

__all__ = ["describe"]

Description = dict[str, Any]

_DISTRIBUTIONS = {"redlane": "redlane", "redlane-hub": "redlane_hub"}


def describe(program: str) -> Description | None:
    """The program's version, commands and tables, or None when it is not installed."""
    package = _DISTRIBUTIONS[program]
    if find_spec(package) is None:
        return None
    main = import_module(f"{package}.cli.main")
    parser = main.full_parser()
    summaries = {entry.name: entry.summary for entry in main.COMMANDS}
    command = _command(parser, "", "")
    # The list of commands says it better than a module may have said it again.
    for each in command["commands"]:
        each["summary"] = summaries.get(each["name"], each["summary"])
    return {
        "version": version(program),
        "command": command,
        "tables": _tables() if program == "redlane" else {},
    }


def _command(parser: argparse.ArgumentParser, name: str, summary: str) -> Description:
    visible = [each for each in parser._actions if each.help != argparse.SUPPRESS]  # noqa: SLF001  # argparse has no other way in
    return {
        "name": name,
        "words": parser.prog,
        "summary": summary,
        "description": _expand(parser.description, parser.prog),
        "epilog": _expand(parser.epilog, parser.prog),
        "arguments": [
            _argument(parser, each)
            for each in visible
            if not isinstance(each, argparse._SubParsersAction)  # noqa: SLF001  # as above
            or each.nargs == argparse.REMAINDER  # any other words are taken as well
        ],
        "commands": [
            command
            for each in visible
            if isinstance(each, argparse._SubParsersAction)  # noqa: SLF001  # as above
            for command in _commands(each)
        ],
    }


def _commands(action: "argparse._SubParsersAction[Any]") -> list[Description]:
    """The commands that the help lists; one without a line there is hidden."""
    return [
        _command(action.choices[each.dest], each.dest, each.help or "")
        for each in action._choices_actions  # noqa: SLF001  # as above
        if each.help != argparse.SUPPRESS
    ]


def _argument(parser: argparse.ArgumentParser, action: argparse.Action) -> Description:
    formatter = parser._get_formatter()  # noqa: SLF001  # as above
    choices = "{" + ",".join(map(str, action.choices)) + "}" if action.choices else None
    fallback = action.dest.upper() if action.option_strings else action.dest
    value = action.metavar or choices or fallback
    return {
        "flags": list(action.option_strings),
        "value": " ".join(value) if isinstance(value, tuple) else value,
        "count": "0" if action.nargs == 0 else str(action.nargs or ""),
        "required": action.required,
        "help": formatter._expand_help(action) if action.help else "",  # noqa: SLF001  # as above
    }


def _expand(text: str | None, program: str) -> str:
    """The text as argparse prints it: only then are doubled percent signs single."""
    return (text or "") % {"prog": program}


def _tables() -> dict[str, list[Description]]:
    """The fields of the files, from the tables that the loader itself obeys."""
    fields = import_module("redlane.policies.fields")
    settings = import_module("redlane.model.settings")
    tables = {
        "policies": fields.POLICY.values(),
        "transform": fields.TRANSFORM.values(),
        "roles": fields.ROLE.values(),
        "settings": settings.SETTINGS,
    }
    return {name: [_field(each) for each in rows] for name, rows in tables.items()}


def _field(field: Any) -> Description:  # noqa: ANN401  # the program is imported late
    default = field.default
    return {
        "name": field.name,
        "kind": str(field.kind),
        "help": field.help,
        "required": field.required,
        "choices": list(field.choices),
        "types": list(field.types),
        "default": None if default in (None, ()) else json.dumps(default),
    }


if __name__ == "__main__":
    json.dump(describe(sys.argv[1]), sys.stdout)
