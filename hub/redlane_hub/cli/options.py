"""The options that commands share: which hub is meant, and its settings."""

import argparse
import dataclasses
import os
from pathlib import Path

from redlane_hub.settings import Settings, environment_name, load_settings

__all__ = [
    "SECRET_SETTINGS",
    "add_hub",
    "add_json",
    "add_settings",
    "given_options",
    "settings_of",
]

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

_METAVARS = {
    "database": "PATH",
    "listen": "HOST:PORT",
    "log_level": "LEVEL",
    "mail_from": "ADDRESS",
    "max_content_bytes": "BYTES",
    "metrics_listen": "HOST:PORT",
    "payment_api_url": "URL",
    "payment_price": "ID",
    "public_url": "URL",
    "require_signatures": "1|0",
    "trusted_proxies": "ADDRESSES",
    "workers": "N",
}


def add_hub(parser: argparse.ArgumentParser) -> None:
    """Add `--database` and `--config`, which say which hub is meant."""
    _add_config(parser)
    _add_setting(parser, _fields()["database"])


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add `--config`, and an option for every setting that is no secret."""
    _add_config(parser)
    for field in _fields().values():
        if field.name not in SECRET_SETTINGS:
            _add_setting(parser, field)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add `--json`."""
    parser.add_argument("--json", action="store_true", help="print JSON, for scripts")


def given_options(arguments: argparse.Namespace) -> dict[str, object]:
    """The settings as the command line names them; None where it does not."""
    return {name: getattr(arguments, name, None) for name in _fields()}


def settings_of(arguments: argparse.Namespace) -> Settings:
    """The settings from the file, the environment and the command line."""
    return load_settings(given_options(arguments), os.environ, arguments.config)


def _fields() -> dict[str, dataclasses.Field[object]]:
    return {field.name: field for field in dataclasses.fields(Settings)}


def _add_config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--config", metavar="FILE", type=Path, help="a TOML file with settings"
    )


def _add_setting(
    parser: argparse.ArgumentParser, field: "dataclasses.Field[object]"
) -> None:
    default = f"; default: {field.default}" if field.default else ""
    told = f"{field.metadata['help']} [{environment_name(field.name)}{default}]"
    parser.add_argument(
        f"--{field.name.replace('_', '-')}",
        metavar=_METAVARS.get(field.name, "VALUE"),
        help=told.replace("%", "%%"),
    )
