"""`redlane hub email|password|reset`: what an account is known by."""

import argparse

from redlane.cli import exit_codes
from redlane.cli.hub.asking import read_line, read_password
from redlane.cli.hub.which import add_hub, hub_of, kept_logins
from redlane.cli.output import print_note
from redlane.cli.parser import Commands, add_command
from redlane.hubclient import Login

__all__ = ["register"]


def register(group: Commands) -> None:
    """Add the commands."""
    email = add_command(
        group,
        "email",
        _email,
        summary="give the account another address",
        examples="redlane hub email ada@example.net",
    )
    email.add_argument("email", metavar="EMAIL", help="the new one")
    password = add_command(
        group,
        "password",
        _password,
        summary="give the account another password",
        description="Tokens that were given out stay good until they expire.",
        examples="""
            redlane hub password
            redlane hub password --password-stdin < old-and-new
        """,
    )
    reset = add_command(
        group,
        "reset",
        _reset,
        summary="set a password that was forgotten",
        description="""
            Have a link sent to the account's address; with --confirm, set a new
            password with the token that stands in the link.
        """,
        examples="""
            redlane hub reset ada@example.org
            redlane hub reset ada@example.org --confirm
        """,
    )
    reset.add_argument("email", metavar="EMAIL", help="the account's address")
    reset.add_argument(
        "--confirm", action="store_true", help="ask for the token, and a new password"
    )
    for parser, lines in (
        (password, "the current and the new password"),
        (reset, "the token and the new password"),
    ):
        parser.add_argument(
            "--password-stdin",
            action="store_true",
            help=f"read {lines} from standard input, a line each",
        )
    for parser in (email, password, reset):
        add_hub(parser)


def _email(arguments: argparse.Namespace) -> int:
    with hub_of(arguments, as_somebody=True) as hub:
        is_kept = kept_logins().token(hub.address) == hub.token
        changed = hub.set_email(arguments.email)
        if is_kept:
            login = Login(
                changed.token,
                changed.email,
                is_endorsed=False,
                require_email_update=False,
            )
            kept_logins().keep(hub.address, login)
        print_note(f"the account's address is {changed.email} from now on")
    return exit_codes.OK


def _password(arguments: argparse.Namespace) -> int:
    with hub_of(arguments, as_somebody=True) as hub:
        is_typed = not arguments.password_stdin
        current = read_password(
            from_stdin=not is_typed, is_new=False, asked="current password"
        )
        new = read_password(from_stdin=not is_typed, is_new=True, asked="new password")
        hub.set_password(current, new)
        print_note("the account has another password from now on; tokens stay good")
    return exit_codes.OK


def _reset(arguments: argparse.Namespace) -> int:
    with hub_of(arguments, as_nobody=True) as hub:
        if not arguments.confirm:
            hub.request_reset(arguments.email)
            print_note(
                f"if {arguments.email} is registered, a link was sent there. Next: "
                f"redlane hub reset {arguments.email} --confirm"
            )
            return exit_codes.OK
        from_stdin = arguments.password_stdin
        token = read_line("token of the link", from_stdin=from_stdin)
        new = read_password(from_stdin=from_stdin, is_new=True, asked="new password")
        hub.confirm_reset(token, new)
        print_note("the account has another password from now on")
    return exit_codes.OK
