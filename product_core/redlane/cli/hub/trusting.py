"""`redlane hub trust|untrust|trusted`: whose signatures count here."""

import argparse
import sys
from dataclasses import asdict

from redlane.cli import exit_codes
from redlane.cli.hub.which import add_json, add_system, paths_of
from redlane.cli.output import print_json, print_note
from redlane.cli.parser import Commands, add_command
from redlane.model.visible import on_one_line
from redlane.sharing.names import checked_fingerprint
from redlane.sharing.trust import read_trust

__all__ = ["register"]


def register(group: Commands) -> None:
    """Add the commands."""
    trust = add_command(
        group,
        "trust",
        _trust,
        summary="trust a publisher's key",
        description="""
            Take what a key has signed without asking. Have the fingerprint from the
            publisher, over another way than the hub.
        """,
        examples="""
            redlane hub trust FINGERPRINT --note 'Ada, by phone'
            redlane hub trust FINGERPRINT --replaces OLD
        """,
    )
    trust.add_argument("--note", metavar="N", help="a remark of your own")
    trust.add_argument(
        "--replaces",
        metavar="OLD",
        help="the publisher's key so far, which is trusted no more",
    )
    untrust = add_command(
        group,
        "untrust",
        _untrust,
        summary="trust a key no more",
        description="What it has signed stays installed; a pull asks about it again.",
        examples="redlane hub untrust FINGERPRINT",
    )
    for parser in (trust, untrust):
        parser.add_argument("fingerprint", metavar="FINGERPRINT", help="of the key")
    trusted = add_command(
        group,
        "trusted",
        _trusted,
        summary="list the trusted keys",
        examples="redlane hub trusted --json",
    )
    add_json(trusted)
    for parser in (trust, untrust, trusted):
        add_system(parser)


def _trust(arguments: argparse.Namespace) -> int:
    from redlane.sharing.installing import keep_trust  # noqa: PLC0415  # much to load
    from redlane.sharing.journal import alone  # noqa: PLC0415  # as above

    key, old = checked_fingerprint(arguments.fingerprint), arguments.replaces
    old = None if old is None else checked_fingerprint(old)
    paths = paths_of(arguments)
    with alone(paths):
        found = read_trust(paths.hub_trust)
        keep_trust(paths, found.trusting(key, arguments.note, old))
    print_note(f"{key} is trusted" + (f" in the place of {old}" if old else ""))
    return exit_codes.OK


def _untrust(arguments: argparse.Namespace) -> int:
    from redlane.sharing.installing import keep_trust  # noqa: PLC0415  # much to load
    from redlane.sharing.journal import alone  # noqa: PLC0415  # as above

    key, paths = checked_fingerprint(arguments.fingerprint), paths_of(arguments)
    with alone(paths):
        keep_trust(paths, read_trust(paths.hub_trust).without(key))
    print_note(f"{key} is trusted no more")
    return exit_codes.OK


def _trusted(arguments: argparse.Namespace) -> int:
    found = read_trust(paths_of(arguments).hub_trust)
    came = {new: old for old, new in found.replaced.items()}
    if arguments.json:
        print_json(
            [
                {"fingerprint": key, **asdict(each), "replaces": came.get(key)}
                for key, each in found.publishers.items()
            ]
        )
        return exit_codes.OK
    for key, each in found.publishers.items():
        note = f"  {each.note}" if each.note else ""
        sys.stdout.write(f"{on_one_line(f'{key}  since {each.since}{note}')}\n")
    return exit_codes.OK
