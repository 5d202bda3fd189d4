"""`redlane hub keys`: what one signs with, here and on the hub."""

import argparse
import os
import re
import sys
from base64 import b64encode
from functools import cache

from redlane.cli import exit_codes
from redlane.cli.hub.asking import agreed, asked_passphrase, new_passphrase
from redlane.cli.hub.which import add_hub, add_json, hub_of
from redlane.cli.output import print_json, print_note, single_line
from redlane.cli.parser import Commands, Parser, add_command, add_group
from redlane.errors import RedlaneError, UsageError
from redlane.hubclient import HubError, HubUnavailableError, SigningKey
from redlane.hubclient.keys import DEFAULT_NAME, Keys, LocalKey
from redlane.hubclient.signing import PUBLIC_BYTES, decoded
from redlane.hubclient.ssh_agent import agent_keys
from redlane.paths import Paths

__all__ = ["local_keys", "register"]

_FINGERPRINT = re.compile(r"[0-9a-f]{64}")


def register(group: Commands) -> None:
    """Add the commands."""
    commands = add_group(
        group,
        "keys",
        summary="keys to sign with what one publishes",
        examples="redlane hub keys generate && redlane hub keys add",
    )
    generate = add_command(
        commands,
        "generate",
        _generate,
        summary="make a key, which stays here",
        examples="""
            redlane hub keys generate
            redlane hub keys generate work --passphrase
        """,
    )
    generate.add_argument(
        "--passphrase", action="store_true", help="lock it with a passphrase"
    )
    add = _register_add(commands)
    for parser in (generate, add):
        parser.add_argument(
            "name", nargs="?", default=DEFAULT_NAME, metavar="NAME", help="the key"
        )
    listing = add_command(
        commands,
        "list",
        _list,
        summary="list the keys that are here and on the hub",
        description="List the keys that are here, and with a login those of the hub.",
        examples="redlane hub keys list --json",
    )
    revoke = add_command(
        commands,
        "revoke",
        _revoke,
        summary="have a key, and all that it has signed, count no more",
        examples="redlane hub keys revoke work",
    )
    revoke.add_argument("key", metavar="KEY", help="its name here, or its fingerprint")
    revoke.add_argument("--yes", action="store_true", help="ask nothing")
    for parser in (add, listing, revoke):
        add_hub(parser)
    for parser in (generate, add, listing):
        add_json(parser)


def _register_add(commands: Commands) -> Parser:
    add = add_command(
        commands,
        "add",
        _add,
        summary="make a key known to the hub",
        description="""
            Make the public half of a key known to the hub. The key is one of generate,
            or one that the ssh-agent or a command signs with: it is then kept under
            NAME who does. The command gets what is to be signed on its standard input,
            and prints the signature in base64.
        """,
        examples="""
            redlane hub keys add --label laptop
            redlane hub keys add work --ssh-agent ada@laptop
            redlane hub keys add hsm --command 'sign-with-hsm 3' --public-key BASE64
        """,
    )
    add.add_argument("--label", help="what the hub shows beside it")
    add.add_argument(
        "--ssh-agent", metavar="COMMENT", help="the key that the ssh-agent calls so"
    )
    add.add_argument("--command", metavar="WORDS", help="the command that signs")
    add.add_argument("--public-key", metavar="BASE64", help="the key that it signs by")
    return add


def local_keys() -> Keys:
    """The keys of whoever runs the command."""
    return Keys(Paths.from_environment(os.environ).hub_keys, cache(asked_passphrase))


def _generate(arguments: argparse.Namespace) -> int:
    passphrase = new_passphrase() if arguments.passphrase else None
    made = local_keys().generate(arguments.name, passphrase)
    _print(arguments, _row(made, None))
    return exit_codes.OK


def _add(arguments: argparse.Namespace) -> int:
    with hub_of(arguments, as_somebody=True) as hub:
        reference = _reference(arguments)
        key = reference or local_keys().find(arguments.name)
        label = arguments.label or key.name
        added = hub.add_key(b64encode(key.public_key).decode(), label)
        if added.fingerprint != key.fingerprint:
            raise HubUnavailableError(f"{hub.address} has made another key of it")
        if reference is not None:
            local_keys().keep(reference)
        _print(arguments, _row(key, added))
    return exit_codes.OK


def _reference(arguments: argparse.Namespace) -> LocalKey | None:
    """The key that somebody else signs with; None for one that is here."""
    if arguments.ssh_agent is not None:
        called = [each for each in agent_keys() if each.comment == arguments.ssh_agent]
        if len(called) != 1:
            found = "no" if not called else "more than one"
            raise UsageError(
                f"the ssh-agent has {found} Ed25519 key {arguments.ssh_agent!r}: "
                "see ssh-add -l"
            )
        public = called[0].public_key
        return local_keys().reference(arguments.name, "ssh-agent", public, "")
    if (arguments.command is None) != (arguments.public_key is None):
        raise UsageError("--command and --public-key go together")
    if arguments.command is None:
        return None
    try:
        public = decoded(arguments.public_key, PUBLIC_BYTES)
    except RedlaneError as error:
        raise UsageError(f"--public-key: {error}") from error
    words = arguments.command
    return local_keys().reference(arguments.name, "command", public, words)


def _list(arguments: argparse.Namespace) -> int:
    here = {each.fingerprint: each for each in local_keys().all()}
    there = {each.fingerprint: each for each in _of_hub(arguments)}
    rows = [_row(here.get(each), there.get(each)) for each in {**here, **there}]
    if arguments.json:
        print_json(rows)
    for row in () if arguments.json else rows:
        sys.stdout.write(f"{_line(row)}\n")
    return exit_codes.OK


def _of_hub(arguments: argparse.Namespace) -> tuple[SigningKey, ...]:
    """The account's keys; none without a hub, or a login."""
    try:
        with hub_of(arguments, as_somebody=True) as hub:
            return hub.keys()
    except (UsageError, HubError) as error:
        print_note(f"the keys here alone: {error}")
        return ()


def _revoke(arguments: argparse.Namespace) -> int:
    found = arguments.key
    if not _FINGERPRINT.fullmatch(found):
        found = local_keys().find(found).fingerprint
    with hub_of(arguments, as_somebody=True) as hub:
        agreed(
            f"Revoke {arguments.key}? What it has signed counts as unsigned from then.",
            yes=arguments.yes,
        )
        hub.revoke_key(found)
        print_note(f"{single_line(found)} is revoked")
    return exit_codes.OK


def _row(here: LocalKey | None, there: SigningKey | None) -> dict[str, object]:
    fingerprint = here.fingerprint if here else there.fingerprint if there else ""
    return {
        "fingerprint": fingerprint,
        "name": here and here.name,
        "kind": here and here.kind,
        "label": there and there.label,
        "created_at": there and there.created_at,
        "revoked_at": there and there.revoked_at,
        "on_hub": there is not None,
    }


def _print(arguments: argparse.Namespace, row: dict[str, object]) -> None:
    if arguments.json:
        print_json(row)
    else:
        sys.stdout.write(f"{_line(row)}\n")


def _line(row: dict[str, object]) -> str:
    name = row["name"] or "not here"
    where = "on the hub" if row["on_hub"] else "not on the hub"
    if row["revoked_at"]:
        where = f"revoked {row['revoked_at']}"
    kind = f" ({row['kind']})" if row["kind"] else ""
    label = f", {row['label']}" if row["label"] else ""
    return single_line(f"{row['fingerprint']}  {name}{kind}: {where}{label}")
