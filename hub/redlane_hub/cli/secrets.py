"""`redlane-hub keys` and `rotate-secret`: what the hub signs with."""

import argparse
import hashlib
import sys
from base64 import b64encode
from pathlib import Path

from redlane_hub.cli import exit_codes
from redlane_hub.cli.options import add_hub, add_json, settings_of
from redlane_hub.cli.output import print_json, print_line, tell
from redlane_hub.cli.parser import Commands, add_command
from redlane_hub.errors import OperatorError
from redlane_hub.security.secrets import rotate_token_secret, subscription_seed
from redlane_hub.settings import Settings
from redlane_hub.store import lease
from redlane_hub.store.existing import existing_database, require_database

__all__ = ["register"]


def register(commands: Commands) -> None:
    """Add `keys` and `rotate-secret`."""
    parser = add_command(
        commands,
        "keys",
        _keys,
        summary="print the public key of the hub's subscription statuses",
        description="""
            Print the public key that verifies the hub's subscription statuses, as
            base64 of its 32 raw bytes: what a daemon is given to trust this hub. Give
            it the settings that the hub has: the key follows from `subscription_key`,
            or from the file beside the database.
        """,
        examples="""
            redlane-hub keys --database hub.db
            redlane-hub keys --json --config /etc/redlane-hub/hub.toml
        """,
    )
    add_json(parser)
    add_hub(parser)
    _register_rotate(commands)


def _register_rotate(commands: Commands) -> None:
    parser = add_command(
        commands,
        "rotate-secret",
        _rotate,
        summary="end every token that was ever issued",
        description="""
            Replace the secret that signs bearer tokens: everybody must log in again.
            Tokens cannot be revoked one by one, so this is what helps when one was
            stolen. A hub that serves takes the old secret until it is restarted.
        """,
        examples="""
            redlane-hub rotate-secret --database hub.db
            redlane-hub rotate-secret --yes && systemctl restart redlane-hub
        """,
    )
    parser.add_argument("--yes", action="store_true", help="do not ask")
    add_hub(parser)


def _keys(arguments: argparse.Namespace) -> int:
    from nacl.signing import SigningKey  # noqa: PLC0415  # slow; only needed here

    settings = settings_of(arguments)
    seed = _seed(settings)
    public_key = bytes(SigningKey(seed).verify_key)
    text = b64encode(public_key).decode()
    if arguments.json:
        print_json(
            {
                "subscription_public_key": text,
                "fingerprint": hashlib.sha256(public_key).hexdigest(),
                "source": _source(settings),
            }
        )
    else:
        print_line(text)
    return exit_codes.OK


def _seed(settings: Settings) -> bytes:
    if settings.subscription_key:
        return subscription_seed(settings)
    kept = Path(_source(settings))
    # Not beside any file: the database of a hub it must be.
    with existing_database(settings.database_path):
        was_there = kept.exists()
        seed = subscription_seed(settings)
    if not was_there:
        tell(
            f"made {kept}; a hub whose 'subscription_key' comes from its settings has "
            "another key"
        )
    return seed


def _source(settings: Settings) -> str:
    if settings.subscription_key:
        return "the setting 'subscription_key'"
    return f"{settings.database}.subscription-key"


def _rotate(arguments: argparse.Namespace) -> int:
    settings = settings_of(arguments)
    require_database(settings.database_path)
    if not arguments.yes and not settings.secret:
        _confirm()
    was_there = Path(f"{settings.database}.secret").exists()
    path = rotate_token_secret(settings)
    print_line(f"{path}: replaced; everybody must log in again")
    if not was_there:
        tell("there was none before; a hub that gets it from its settings keeps that")
    if lease.is_used(settings.database_path):
        tell("restart the hub now: it takes the old tokens until then")
    return exit_codes.OK


def _confirm() -> None:
    """Have a person at a terminal say yes. Raises OperatorError for anything else."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise OperatorError("this ends every token; say --yes to do it")
    sys.stderr.write(
        "This ends every token: everybody must log in again. Go on? [y/N] "
    )
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise OperatorError("nothing was changed")
