"""`redlane-hub serve`: the service itself."""

import argparse
import os
import sys

from redlane_hub.cli.options import add_settings, settings_of
from redlane_hub.cli.parser import Commands, add_command
from redlane_hub.server.service import serve

__all__ = ["register"]


def register(commands: Commands) -> None:
    """Add `serve`."""
    parser = add_command(
        commands, "serve", _serve, summary="Serve the hub until SIGTERM."
    )
    add_settings(parser)


def _serve(options: argparse.Namespace) -> int:
    return serve(settings_of(options), os.environ, _announce)


def _announce(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
