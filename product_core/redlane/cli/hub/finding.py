"""`redlane hub search|show`: what others share."""

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING

from redlane.cli import exit_codes
from redlane.cli.hub.which import add_hub, add_json, hub_of
from redlane.cli.output import paint, print_json, print_note
from redlane.cli.parser import Commands, add_command
from redlane.model.visible import visible

if TYPE_CHECKING:
    from redlane.hubclient import Artifact, Endorsement, Hub, Summary

__all__ = ["register"]

_LIMIT = 50


def register(group: Commands) -> None:
    """Add the commands."""
    search = add_command(
        group,
        "search",
        _search,
        summary="find what is shared",
        description="""
            List artifacts whose name or description holds QUERY, the newest first;
            all of them without one. Yanked ones are not listed.
        """,
        examples="""
            redlane hub search git
            redlane hub search --tag secrets --json
        """,
    )
    search.add_argument("query", metavar="QUERY", nargs="?", help="part of a name")
    search.add_argument("--tag", metavar="T", help="only what has this tag")
    search.add_argument(
        "--limit", type=int, default=_LIMIT, metavar="N", help="at most so many"
    )
    show = add_command(
        group,
        "show",
        _show,
        summary="show an artifact, all of it",
        description="""
            Show a version of an artifact, without VERSION the newest one that is not
            yanked. What a terminal would hide or obey is written out as ⟨U+hex⟩.
        """,
        examples="""
            redlane hub show no-force-push
            redlane hub show no-force-push@1.0.0 --json
        """,
    )
    show.add_argument("artifact", metavar="NAME[@VERSION]", help="which one")
    for parser in (search, show):
        add_hub(parser)
        add_json(parser)


def _search(arguments: argparse.Namespace) -> int:
    with hub_of(arguments) as hub:
        matching = _matching(hub, arguments.query, arguments.tag)
        found = list(islice(matching, max(0, arguments.limit)))
        more = next(matching, None) is not None
    if arguments.json:
        print_json([asdict(each) for each in found])
    for each in () if arguments.json else found:
        sys.stdout.write(f"{_line(each)}\n")
    if more:
        print_note(f"there are more than {len(found)}: --limit says how many to list")
    return exit_codes.OK


def _matching(hub: "Hub", query: str | None, tag: str | None) -> "Iterator[Summary]":
    """What has the tag and the text, of which the hub looks for one only."""
    if tag is None or query is None:
        yield from hub.every(query, tag)
        return
    wanted = query.casefold()
    for each in hub.every(tag=tag):
        if wanted in f"{each.name}\n{each.description or ''}".casefold():
            yield each


def _shown(text: str) -> str:
    """A text of somebody else's, in one line in which nothing hides."""
    return visible(text).replace("\n", "⏎").replace("\t", " ")


def _line(found: "Summary") -> str:
    name = paint(_shown(f"{found.name}@{found.version}"), "bold", sys.stdout)
    known = " (recognised)" if found.owner_is_endorsed else ""
    of = _shown(f"  {found.owner}{known}")
    about = _shown(f": {found.description}") if found.description else ""
    marks = [
        *(["set"] if found.artifact_type == "set" else []),
        *([] if found.visibility == "public" else [found.visibility]),
    ]
    marked = _shown(f" [{', '.join(marks)}]") if marks else ""
    return f"{name}{of}{marked}{about}"


def _show(arguments: argparse.Namespace) -> int:
    name, at, version = arguments.artifact.partition("@")
    with hub_of(arguments) as hub:
        if not at:
            version = hub.newest(name).version
        found = hub.artifact(name, version)
        endorsed = hub.endorsements(found.id)
    if arguments.json:
        endorsements = [asdict(each) for each in endorsed]
        print_json({**asdict(found), "endorsements": endorsements})
        return exit_codes.OK
    for title, text in _told(found, endorsed):
        sys.stdout.write(f"{title + ':':<13}{_shown(text)}\n")
    sys.stdout.write("content:\n")
    shown = json.dumps(found.content, indent=2, ensure_ascii=False)
    sys.stdout.writelines(f"| {visible(each)}\n" for each in shown.split("\n"))
    return exit_codes.OK


def _told(
    found: "Artifact", endorsed: "tuple[Endorsement, ...]"
) -> Iterator[tuple[str, str]]:
    """What there is to say of an artifact, line by line."""
    yield "name", f"{found.name}@{found.version}"
    if found.yanked:
        yield "yanked", found.yanked_reason or "no reason is given"
    if found.description:
        yield "description", found.description
    yield "owner", found.owner + (" (recognised)" if found.owner_is_endorsed else "")
    yield "published", found.created_at
    yield "visibility", found.visibility
    if found.tags:
        yield "tags", ", ".join(found.tags)
    yield "downloads", str(found.downloads)
    yield "hash", found.content_hash
    yield "signature", _signature(found)
    for each in found.dependencies:
        optional = "" if each.required else " (optional)"
        yield "needs", f"{each.name}@{each.version}{optional}"
    for one in endorsed:
        known = " (recognised)" if one.user_is_endorsed else ""
        yield "endorsed", f"{one.level} by {one.email}{known}"


def _signature(found: "Artifact") -> str:
    if not found.signed:
        return "none"
    from redlane.hubclient.statement import Proof, proof_of  # noqa: PLC0415  # much

    state = "good" if found.signature_valid else "not good, or its key was revoked"
    stated = {
        Proof.NONE: "",
        Proof.HOLDS: "; checked here, with the needs",
        Proof.BROKEN: "; THE PUBLISHER'S OWN STATEMENT IS OF SOMETHING ELSE",
    }[proof_of(found)]
    return f"{state}, says the hub{stated}; key {found.key_fingerprint}"
