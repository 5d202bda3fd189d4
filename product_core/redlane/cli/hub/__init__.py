"""`redlane hub`: accounts, and what others share, on a hub."""

from redlane.cli.hub import (
    account,
    credentials,
    fetching,
    finding,
    keys,
    locked,
    publishing,
    pulling,
    trusting,
)
from redlane.cli.parser import Commands, add_group

__all__ = ["register"]


def register(commands: Commands) -> None:
    """Add `redlane hub` and what it holds."""
    group = add_group(
        commands,
        "hub",
        summary="share policies through a hub",
        examples="""
            redlane hub register ada@example.org --hub https://hub.example.org
            redlane hub login ada@example.org
            redlane hub search git
            redlane hub show no-force-push
            redlane hub pull no-force-push
            redlane hub push git.json --name no-force-push --version 1.0.0 --sign
        """,
    )
    account.register(group)
    credentials.register(group)
    finding.register(group)
    pulling.register(group)
    locked.register(group)
    fetching.register(group)
    trusting.register(group)
    publishing.register(group)
    keys.register(group)
