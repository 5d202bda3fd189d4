"""`redlane-hub approve`, `recognise` and `accounts`: who may do what."""

import argparse
import os

from redlane_hub.cli import exit_codes
from redlane_hub.cli.options import add_hub, add_json, settings_of
from redlane_hub.cli.output import print_json, print_line, print_table, tell
from redlane_hub.cli.parser import Commands, add_command
from redlane_hub.services.administration import AccountSummary, Administration
from redlane_hub.store.existing import existing_database

__all__ = ["register"]


def register(commands: Commands) -> None:
    """Add `approve`, `recognise` and `accounts`."""
    _register_approve(commands)
    _register_recognise(commands)
    parser = add_command(
        commands,
        "accounts",
        _accounts,
        summary="list the accounts",
        examples="""
            redlane-hub accounts --unapproved --database hub.db
            redlane-hub accounts --json | jq -r '.[].email'
        """,
    )
    parser.add_argument(
        "--unapproved", action="store_true", help="those that wait for approval"
    )
    add_json(parser)
    add_hub(parser)


def _register_approve(commands: Commands) -> None:
    parser = add_command(
        commands,
        "approve",
        _approve,
        summary="let an account publish and endorse",
        description="""
            Let an account publish and endorse. It counts from the next request on; the
            hub may go on serving. What was published stays when it is revoked.
        """,
        examples="""
            redlane-hub approve ada@example.org --database hub.db
            redlane-hub approve ada@example.org --revoke
        """,
    )
    _add_account(parser, "take the approval back")


def _register_recognise(commands: Commands) -> None:
    parser = add_command(
        commands,
        "recognise",
        _recognise,
        summary="make an account a recognised publisher",
        description="""
            Make an account a recognised publisher: its artifacts and endorsements show
            it (`owner_is_endorsed`). It may publish only when it is approved, too.
        """,
        examples="""
            redlane-hub recognise ada@example.org --database hub.db
            redlane-hub recognise ada@example.org --revoke
        """,
    )
    _add_account(parser, "it is one no longer")


def _add_account(parser: argparse.ArgumentParser, revoking: str) -> None:
    parser.add_argument(
        "email", metavar="EMAIL", type=_address, help="the account's address"
    )
    parser.add_argument("--revoke", action="store_true", help=revoking)
    add_hub(parser)


def _address(text: str) -> str:
    """The address as the hub keeps it, in UTF-8, whatever the locale is."""
    try:
        return os.fsencode(text).decode() if _has_raw_bytes(text) else text
    except UnicodeDecodeError:
        raise argparse.ArgumentTypeError("not valid UTF-8") from None


def _has_raw_bytes(text: str) -> bool:
    """Whether the locale could not read it; Python then keeps bytes as surrogates."""
    return any("\udc80" <= each <= "\udcff" for each in text)


def _approve(arguments: argparse.Namespace) -> int:
    with existing_database(settings_of(arguments).database_path) as database:
        account = Administration(database).approve(
            arguments.email, value=not arguments.revoke
        )
    done = "may no longer publish" if arguments.revoke else "may publish"
    print_line(f"{account.email} {done}")
    return exit_codes.OK


def _recognise(arguments: argparse.Namespace) -> int:
    with existing_database(settings_of(arguments).database_path) as database:
        account = Administration(database).recognise(
            arguments.email, value=not arguments.revoke
        )
    not_any = "no longer " if arguments.revoke else ""
    print_line(f"{account.email} is {not_any}a recognised publisher")
    if not account.is_approved and not arguments.revoke:
        tell("it may not publish yet: `redlane-hub approve` lets it")
    return exit_codes.OK


def _accounts(arguments: argparse.Namespace) -> int:
    with existing_database(settings_of(arguments).database_path) as database:
        found = Administration(database).accounts(unapproved_only=arguments.unapproved)
    if arguments.json:
        print_json([_as_json(each) for each in found])
    elif found:
        print_table(_HEADS, map(_row, found))
    else:
        waiting = " waits for approval" if arguments.unapproved else " yet"
        tell(f"no account{waiting}")
    return exit_codes.OK


_HEADS = ("EMAIL", "APPROVED", "RECOGNISED", "ARTIFACTS", "KEYS", "CREATED", "ID")


def _row(summary: AccountSummary) -> list[object]:
    account = summary.account
    return [
        account.email,
        _yes(account.is_approved),
        _yes(account.is_endorsed),
        summary.artifacts,
        summary.keys,
        f"{account.created_at[:16]}Z",
        account.id,
    ]


def _yes(value: bool) -> str:  # noqa: FBT001  # a cell's value
    return "yes" if value else "no"


def _as_json(summary: AccountSummary) -> dict[str, object]:
    account = summary.account
    return {
        "id": account.id,
        "email": account.email,
        "is_approved": account.is_approved,
        "is_endorsed": account.is_endorsed,
        "created_at": account.created_at,
        "artifacts": summary.artifacts,
        "keys": summary.keys,
    }
