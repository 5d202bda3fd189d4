"""`redlane reload`: apply what changed on disk, as `systemctl reload` does."""

import argparse

from redlane.cli import exit_codes
from redlane.cli.output import print_error, print_finding, print_note
from redlane.cli.parser import Commands, add_command
from redlane.client import Client, RefusedError, operations

__all__ = ["register", "reload_policies"]

_LOAD_ERRORS = 422
_PATIENCE_SECONDS = 120.0


def register(commands: Commands) -> None:
    """Add `redlane reload`."""
    add_command(
        commands,
        "reload",
        reload_policies,
        summary="apply what changed on disk to the daemon",
        description="""
            Have the daemon load its policies, roles and settings again. With load
            errors nothing changes, each is a line on standard error, and the exit code
            is 1.
        """,
        examples="redlane config check && redlane reload",
    )


def reload_policies(_: argparse.Namespace) -> int:
    """Ask for a reload and say what came of it."""
    try:
        loaded = Client().send(operations.reload())
    except RefusedError as error:
        if error.status != _LOAD_ERRORS:
            raise
        for finding in error.document.get("errors", ()):
            print_finding(f"error: {_line(finding)}")
        print_error(str(error))
        return exit_codes.FINDING
    for warning in loaded["warnings"]:
        print_note(f"warning: {_line(warning)}")
    print_note(f"{loaded['policies']} policies and {loaded['roles']} roles are loaded")
    return exit_codes.OK


def _line(finding: dict[str, str]) -> str:
    parts = (finding["file"], finding["subject"], finding["message"])
    return ": ".join(filter(None, parts))
