"""`redlane hub register|login|logout|whoami`: an account, and its token."""

import argparse
import sys
from dataclasses import asdict

from redlane.cli import exit_codes
from redlane.cli.hub.asking import read_password
from redlane.cli.hub.which import add_hub, add_json, address_of, hub_of, kept_logins
from redlane.cli.output import print_json, print_note, single_line
from redlane.cli.parser import Commands, add_command

__all__ = ["register"]


def register(group: Commands) -> None:
    """Add the commands."""
    for name, run, summary in (
        ("register", _register, "make an account"),
        ("login", _login, "log in, for 30 days"),
    ):
        parser = add_command(
            group,
            name,
            run,
            summary=summary,
            examples=f"""
                redlane hub {name} ada@example.org
                redlane hub {name} ada@example.org --password-stdin < password
            """,
        )
        parser.add_argument("email", metavar="EMAIL", help="the account's address")
        parser.add_argument(
            "--password-stdin",
            action="store_true",
            help="read the password from standard input, a line",
        )
        add_hub(parser)
    logout = add_command(
        group,
        "logout",
        _logout,
        summary="forget the token",
        description="""
            Forget the token that login has kept. On the hub it stays good until it
            expires: tokens are not kept there.
        """,
        examples="redlane hub logout --hub https://hub.example.org",
    )
    add_hub(logout)
    whoami = add_command(
        group,
        "whoami",
        _whoami,
        summary="show the account that one is logged in to",
        examples="""
            redlane hub whoami
            redlane hub whoami --all
        """,
    )
    whoami.add_argument(
        "--all", action="store_true", help="list the logins of all hubs; asks none"
    )
    add_hub(whoami)
    add_json(whoami)


def _register(arguments: argparse.Namespace) -> int:
    with hub_of(arguments, as_nobody=True) as hub:
        password = read_password(from_stdin=arguments.password_stdin, is_new=True)
        made = hub.register(arguments.email, password)
        print_note(
            f"{made.email} is registered; it may publish once the hub's operator has "
            "approved it. Next: redlane hub login"
        )
    return exit_codes.OK


def _login(arguments: argparse.Namespace) -> int:
    with hub_of(arguments, as_nobody=True) as hub:
        password = read_password(from_stdin=arguments.password_stdin, is_new=False)
        login = hub.login(arguments.email, password)
        kept_logins().keep(hub.address, login)
        print_note(f"logged in to {hub.address} as {login.email}, for 30 days")
        if login.require_email_update:
            print_note("the hub wants another address of this account: it has none")
    return exit_codes.OK


def _logout(arguments: argparse.Namespace) -> int:
    address = address_of(arguments)
    if kept_logins().forget(address):
        print_note(f"logged out of {address}")
    else:
        print_note(f"nobody was logged in to {address}")
    return exit_codes.OK


def _whoami(arguments: argparse.Namespace) -> int:
    if arguments.all:
        return _print_logins(arguments)
    with hub_of(arguments, as_somebody=True) as hub:
        account = hub.me()
        if arguments.json:
            print_json({"hub": hub.address, **asdict(account)})
            return exit_codes.OK
        may = "may publish" if account.is_approved else "waits for approval to publish"
        known = ", recognised" if account.is_endorsed else ""
        sys.stdout.write(
            single_line(f"{account.email} on {hub.address}: {may}{known}") + "\n"
        )
    return exit_codes.OK


def _print_logins(arguments: argparse.Namespace) -> int:
    found = [{"hub": each.hub, "email": each.email} for each in kept_logins().all()]
    if arguments.json:
        print_json(found)
    else:
        lines = (single_line(f"{each['email']} on {each['hub']}") for each in found)
        sys.stdout.writelines(f"{each}\n" for each in lines)
    return exit_codes.OK
