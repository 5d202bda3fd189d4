"""`redlane-hub serve`: the service itself."""

import argparse
import os
import sys

from redlane_hub.cli.options import add_settings, given_options, settings_of
from redlane_hub.cli.output import drop_stream
from redlane_hub.cli.parser import Commands, add_command
from redlane_hub.server import readiness
from redlane_hub.server.service import serve
from redlane_hub.settings import origins
from redlane_hub.store import lease

__all__ = ["register"]


def register(commands: Commands) -> None:
    """Add `serve`."""
    parser = add_command(
        commands,
        "serve",
        _serve,
        summary="serve the hub until SIGTERM",
        description="""
            Serve the hub until SIGTERM or Ctrl-C. The database is made, or brought up
            to date, first. A line with `listening on` says that connections are taken.
        """,
        examples="""
            redlane-hub serve
            redlane-hub serve --listen 127.0.0.1:8080 --database /var/lib/hub/hub.db
            redlane-hub serve --config /etc/redlane-hub/hub.toml
        """,
    )
    add_settings(parser)


def _serve(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments)
    places = origins(given_options(arguments), os.environ, arguments.config)
    readiness.check(settings, places)
    with lease.using(settings.database_path):
        return serve(settings, os.environ, _announce)


def _announce(line: str) -> None:
    try:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    except OSError:  # nobody listens to us, but there are others to serve
        drop_stream(sys.stdout)
