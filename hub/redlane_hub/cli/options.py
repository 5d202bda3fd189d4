"""Settings as options of a command, from the one table of settings."""

import argparse
import dataclasses
import os
from collections.abc import Iterable
from pathlib import Path

from redlane_hub.settings import Settings, environment_name, load_settings

__all__ = ["SECRET_SETTINGS", "add_settings", "settings_of"]

SECRET_SETTINGS = frozenset(
    {
        "payment_api_key",
        "payment_webhook_secret",
        "secret",
        "smtp_url",
        "subscription_key",
    }
)
"""These are no options: everyone on the machine can read command lines."""


def add_settings(
    parser: argparse.ArgumentParser, names: Iterable[str] | None = None
) -> None:
    """Add `--config` and the settings of these names; without names, all of them."""
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="a TOML file with settings"
    )
    fields = {each.name: each for each in dataclasses.fields(Settings)}
    for name in names or (each for each in fields if each not in SECRET_SETTINGS):
        told = fields[name].metadata["help"]
        parser.add_argument(
            f"--{name.replace('_', '-')}",
            metavar="VALUE",
            help=f"{told} [{environment_name(name)}]".replace("%", "%%"),
        )


def settings_of(options: argparse.Namespace) -> Settings:
    """The settings that the options, the environment and the configuration give."""
    fields = {each.name for each in dataclasses.fields(Settings)}
    given = {name: value for name, value in vars(options).items() if name in fields}
    return load_settings(given, os.environ, options.config)
