"""`redlane subscription`: what the hub says of the account's subscription."""

import argparse
import sys
from base64 import b64decode
from dataclasses import asdict
from datetime import UTC, datetime

from redlane.cli import exit_codes
from redlane.cli.hub.which import add_hub, add_json, hub_of, hub_settings, paths_of
from redlane.cli.output import print_json
from redlane.cli.parser import Commands, add_command
from redlane.errors import UsageError
from redlane.hubclient.signing import PUBLIC_BYTES
from redlane.model.visible import on_one_line

__all__ = ["register"]


def register(commands: Commands) -> None:
    """Add `redlane subscription`."""
    parser = add_command(
        commands,
        "subscription",
        _subscription,
        summary="show the account's subscription, as the hub has signed it",
        description="""
            Show the status of the subscription of whoever is logged in. It is checked
            with the setting hub.subscription_key, and kept for its 15 minutes. Nothing
            else of Redlane depends on it.
        """,
        examples="""
            redlane subscription
            redlane subscription --refresh --json
        """,
    )
    parser.add_argument(
        "--refresh", action="store_true", help="ask the hub, whatever is kept"
    )
    add_hub(parser)
    add_json(parser)


def _subscription(arguments: argparse.Namespace) -> int:
    from redlane.hubclient.subscription import (  # noqa: PLC0415  # much to load
        Clock,
        KeptStatus,
        require_valid,
    )

    paths = paths_of(arguments)
    key = _key(hub_settings(paths).subscription_key)
    with hub_of(arguments, as_somebody=True) as hub:
        kept = KeptStatus(paths.hub_subscription, hub.address, hub.token)
        status = None if arguments.refresh else kept.find(key, Clock.now())
        is_kept = status is not None
        if status is None:
            status = hub.subscription()
            clock = Clock.now()
            require_valid(status, key, clock)
            kept.keep(status, clock)
    if arguments.json:
        print_json({**asdict(status), "kept": is_kept})
        return exit_codes.OK
    until = datetime.fromtimestamp(status.expires_at, UTC).strftime("%H:%M:%SZ")
    of = f" ({status.subscription_id})" if status.subscription_id else ""
    sys.stdout.write(on_one_line(f"{status.status}{of}, signed until {until}") + "\n")
    return exit_codes.OK


def _key(text: str | None) -> bytes:
    if text is None:
        raise UsageError(
            "which key signs for the hub? Set hub.subscription_key to what "
            "redlane-hub keys prints there"
        )
    try:
        key = b64decode(text, validate=True)
    except ValueError:
        key = b""
    if len(key) != PUBLIC_BYTES:
        raise UsageError("hub.subscription_key is not base64 of 32 bytes")
    return key
