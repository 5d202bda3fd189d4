"""`redlane hub push|yank|unyank|endorse`: what one shares, and vouches for."""

import argparse
import os
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from redlane.cli import exit_codes
from redlane.cli.hub.keys import local_keys
from redlane.cli.hub.which import add_hub, add_json, exact, hub_of
from redlane.cli.output import print_finding, print_json, print_note, single_line
from redlane.cli.parser import Commands, Parser, add_command
from redlane.errors import LoadError, RedlaneError, UsageError
from redlane.hubclient import Dependency, HubRefusedError, HubUnavailableError, Release
from redlane.hubclient.keys import DEFAULT_NAME
from redlane.hubclient.signing import canonical, content_hash, signed
from redlane.hubclient.statement import stating
from redlane.model.problem import Severity
from redlane.paths import Paths
from redlane.policies.files import read_file
from redlane.sharing.errors import RefusedError
from redlane.wire.strict_json import JsonError, parse_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redlane.hubclient import Hub
    from redlane.policies.sources import Entry

__all__ = ["register"]

_NOT_FOUND = 404
_LEVELS = ("verified", "trusted_author", "official")


def register(group: Commands) -> None:
    """Add the commands."""
    push = _register_push(group)
    yank = add_command(
        group,
        "yank",
        _yank,
        summary="take a version off the lists",
        description="""
            Take a version off the lists. Who has it keeps it, and who names it exactly
            gets it all the same, with the reason.
        """,
        examples="redlane hub yank no-force-push@1.0.0 --reason 'blocks too much'",
    )
    yank.add_argument("--reason", metavar="R", help="why; people will see it")
    unyank = add_command(
        group,
        "unyank",
        _unyank,
        summary="put a version back",
        examples="redlane hub unyank no-force-push@1.0.0",
    )
    endorse = add_command(
        group,
        "endorse",
        _endorse,
        summary="vouch for a version",
        examples="redlane hub endorse no-force-push@1.0.0 --level official",
    )
    how = endorse.add_mutually_exclusive_group()
    how.add_argument("--level", choices=_LEVELS, help="how far (default: verified)")
    how.add_argument("--withdraw", action="store_true", help="vouch no more")
    for parser in (yank, unyank, endorse):
        parser.add_argument("artifact", metavar="NAME@VERSION", help="which one")
    for parser in (push, yank, unyank, endorse):
        add_hub(parser)


def _register_push(group: Commands) -> Parser:
    push = add_command(
        group,
        "push",
        _push,
        summary="publish a version",
        description="""
            Publish the policies of files as one artifact, or with --member a set of
            others. A version is there for good: nobody can change it, and yank only
            takes it off the lists. What is published is canonical JSON, so that
            everybody can work out its hash.
        """,
        examples="""
            redlane hub push git.json --name no-force-push --version 1.0.0 --sign
            redlane hub push --name team --version 3 --member no-force-push@1.0.0
        """,
    )
    push.add_argument("files", metavar="FILE", nargs="*", type=Path, help="policies")
    push.add_argument("--name", required=True, metavar="N", help="the artifact's name")
    # `version` is what the whole program takes, without a value.
    push.add_argument(
        "--version", dest="release", required=True, metavar="V", help="its version"
    )
    _add_options(push)
    add_json(push)
    return push


def _add_options(push: Parser) -> None:
    push.add_argument("--description", metavar="D", help="what it is for")
    push.add_argument(
        "--tag", action="append", default=[], metavar="T", help="a tag; any number"
    )
    push.add_argument(
        "--visibility",
        choices=["public", "private", "draft"],
        default="public",
        help="who may read it (default: %(default)s)",
    )
    push.add_argument(
        "--member",
        action="append",
        default=[],
        metavar="NAME@VERSION",
        help="make a set, and this one part of it; any number",
    )
    push.add_argument(
        "--sign",
        nargs="?",
        const=DEFAULT_NAME,
        metavar="KEY",
        help=f"sign it, with the key {DEFAULT_NAME} unless one is named",
    )
    push.add_argument(
        "--any-json", action="store_true", help="the file holds no policies"
    )


def _push(arguments: argparse.Namespace) -> int:
    members = tuple(
        Dependency(*exact(each), required=True) for each in arguments.member
    )
    release = Release(
        arguments.name,
        arguments.release,
        canonical(_content(arguments)),
        arguments.description,
        tuple(arguments.tag),
        arguments.visibility,
        "set" if members else "artifact",
        members,
    )
    with hub_of(arguments, as_somebody=True) as hub:
        if arguments.sign is not None:
            key = local_keys().find(arguments.sign)
            release = replace(signed(release, key), schema=stating(release, key))
        made = hub.publish(release)
        if made.content_hash != content_hash(release.content):
            raise HubUnavailableError(
                f"{hub.address} tells another hash than that of what was sent"
            )
    if arguments.json:
        print_json(asdict(made))
    else:
        by = f", signed by {made.key_fingerprint}" if made.signed else ""
        line = f"{made.name}@{made.version}  {made.content_hash}{by}"
        sys.stdout.write(f"{single_line(line)}\n")
    return exit_codes.OK


def _content(arguments: argparse.Namespace) -> object:
    """What the files hold together; what is wrong with it is told.

    Raises UsageError when nothing is to be published.
    """
    if not arguments.files and not arguments.member:
        raise UsageError("name a file to publish, or the members of a set: --member")
    if arguments.any_json:
        if len(arguments.files) != 1:
            raise UsageError("--any-json publishes one file")
        return _read(arguments.files[0])
    from redlane.plugins import find_plugins  # noqa: PLC0415  # the others do without
    from redlane.policies.standalone import read_policies  # noqa: PLC0415

    entries, findings = read_policies(arguments.files, find_plugins())
    for each in findings:
        place = ": ".join(filter(None, (each.file, each.subject, each.message)))
        print_finding(f"{each.severity}: {place}")
    if any(each.severity is Severity.ERROR for each in findings):
        raise UsageError("nothing is published: the files do not load")
    if not entries and not arguments.member:
        raise UsageError("nothing is published: the files hold no policies")
    _require_passed(entries)
    return [each.value for each in entries]


def _require_passed(entries: "Sequence[Entry]") -> None:
    """Raise RefusedError where a policy is not what its own tests say."""
    from redlane.cli.policy_test import result_line  # noqa: PLC0415  # much to load
    from redlane.plugins import find_plugins  # noqa: PLC0415  # as above
    from redlane.policies.standalone import ruleset_of  # noqa: PLC0415  # as above
    from redlane.policy_tests.cases import cases_of  # noqa: PLC0415  # as above
    from redlane.policy_tests.running import run_cases  # noqa: PLC0415  # as above
    from redlane.policy_tests.selecting import own_cases  # noqa: PLC0415  # as above

    paths = Paths.from_environment(os.environ)
    ruleset = ruleset_of(entries, find_plugins(), paths)
    cases, wrong = cases_of(entries)
    failed = [f"{each.subject}: {each.message}" for each in wrong]
    results = run_cases(ruleset, own_cases(cases, ruleset.policies))
    failed += [result_line(each) for each in results if not each.passed]
    if failed:
        more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
        raise RefusedError(f"nothing is published: a test fails{more}: {failed[0]}")


def _read(path: Path) -> object:
    try:
        return parse_json(read_file(path))
    except (JsonError, LoadError) as error:
        raise UsageError(f"{path}: {error}") from error


def _yank(arguments: argparse.Namespace) -> int:
    with hub_of(arguments, as_somebody=True) as hub:
        hub.yank(_id(hub, arguments), arguments.reason)
    print_note(f"{arguments.artifact} is off the lists")
    return exit_codes.OK


def _unyank(arguments: argparse.Namespace) -> int:
    with hub_of(arguments, as_somebody=True) as hub:
        hub.unyank(_id(hub, arguments))
    print_note(f"{arguments.artifact} is on the lists again")
    return exit_codes.OK


def _endorse(arguments: argparse.Namespace) -> int:
    with hub_of(arguments, as_somebody=True) as hub:
        found = _id(hub, arguments)
        if arguments.withdraw:
            _withdraw(hub, found)
            print_note(f"{arguments.artifact} is not vouched for by you any more")
        else:
            made = hub.endorse(found, arguments.level)
            print_note(f"{arguments.artifact} is {made.level}, says {made.email}")
    return exit_codes.OK


def _withdraw(hub: "Hub", artifact_id: str) -> None:
    mine = hub.me().id
    for each in hub.endorsements(artifact_id):
        if each.user_id == mine:
            hub.withdraw(artifact_id, each.id)
            return
    raise HubRefusedError("you have not vouched for it", _NOT_FOUND)


def _id(hub: "Hub", arguments: argparse.Namespace) -> str:
    found = hub.artifact(*exact(arguments.artifact))
    if f"{found.name}@{found.version}" != arguments.artifact:
        raise RedlaneError(f"{hub.address} tells of another artifact")
    return found.id
