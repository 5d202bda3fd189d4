"""`redlane-hub settings`: what is in force, and where it comes from."""

import argparse
import dataclasses
import os
from urllib.parse import urlsplit

from redlane_hub.cli import exit_codes
from redlane_hub.cli.options import (
    SECRET_SETTINGS,
    add_json,
    add_settings,
    given_options,
    settings_of,
)
from redlane_hub.cli.output import print_json, print_table, tell
from redlane_hub.cli.parser import Commands, add_command
from redlane_hub.server import readiness
from redlane_hub.settings import origins

__all__ = ["register"]

_MASK = "***"
_NUMBER_OR_FLAG = (bool, int)


def register(commands: Commands) -> None:
    """Add `redlane-hub settings`."""
    parser = add_command(
        commands,
        "settings",
        _settings,
        summary="check the settings, and show where each comes from",
        description="""
            Check the settings as `serve` would, and show each with where it comes from:
            the configuration file, the environment, or the command line; the later of
            these wins. Secrets are masked.
        """,
        examples="""
            redlane-hub settings --config /etc/redlane-hub/hub.toml
            REDLANE_HUB_WORKERS=2 redlane-hub settings --json
        """,
    )
    add_json(parser)
    add_settings(parser)


def _settings(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments)
    given = origins(given_options(arguments), os.environ, arguments.config)
    readiness.check(settings, given)
    for each in readiness.warnings(settings, os.environ):
        tell(f"warning: {each}")
    values = dataclasses.asdict(settings)
    shown = {name: _masked(name, value) for name, value in values.items()}
    if arguments.json:
        print_json(
            {
                name: {"value": value, "from": given.get(name)}
                for name, value in shown.items()
            }
        )
        return exit_codes.OK
    print_table(
        ("SETTING", "VALUE", "FROM"),
        (
            (name, _as_text(value), given.get(name, "default"))
            for name, value in shown.items()
        ),
    )
    return exit_codes.OK


def _masked(name: str, value: object) -> object:
    """The value; of a secret only that there is one, of an address no credentials."""
    if name not in SECRET_SETTINGS or not isinstance(value, str) or not value:
        return value
    parts = urlsplit(value)
    if name != "smtp_url":
        return _MASK
    host = parts.netloc.rpartition("@")[2]
    credentials = f"{_MASK}@" if "@" in parts.netloc else ""
    return f"{parts.scheme}://{credentials}{host}"


def _as_text(value: object) -> str:
    if isinstance(value, _NUMBER_OR_FLAG):
        return str(int(value))
    if isinstance(value, tuple):
        return ", ".join(value)
    return str(value)
