"""`redlane review`: decide what the yellow lane holds."""

import argparse
import sys
from typing import Any

from redlane.cli import exit_codes
from redlane.cli.output import print_json, print_note, single_line
from redlane.cli.parser import Commands, add_command, add_group
from redlane.cli.visible import visible
from redlane.client import Client, operations

__all__ = ["register"]

_LONGEST_PREVIEW = 100


def register(commands: Commands) -> None:
    """Add `redlane review` and what it holds."""
    group = add_group(
        commands,
        "review",
        summary="decide what the yellow lane holds",
        examples="""
            redlane review list
            redlane review show 4f2a90c1d2e3b4a5
            redlane review allow 4f2a90c1d2e3b4a5 --note 'only this once'
            redlane review block 4f2a90c1d2e3b4a5
        """,
    )
    listing = add_command(
        group,
        "list",
        _list,
        summary="list what is held",
        examples="redlane review list --json",
    )
    show = add_command(
        group,
        "show",
        _show,
        summary="show one held content, all of it",
        description="""
            Show all of one held content. What a terminal would hide or obey (control
            and invisible characters, changes of direction) is written out as
            ⟨U+hex⟩.
        """,
        examples="redlane review show ID",
    )
    for parser in (listing, show):
        parser.add_argument("--json", action="store_true", help="print JSON")
    for decision in ("allow", "block"):
        parser = add_command(
            group,
            decision,
            _decide,
            summary=f"{decision} one held content, once",
            examples=f"redlane review {decision} ID --note 'asked Ada'",
        )
        parser.set_defaults(decision=decision)
        parser.add_argument("--note", help="why; goes to the event log")
        parser.add_argument("id", metavar="ID", help="the review")
    show.add_argument("id", metavar="ID", help="the review")


def _list(arguments: argparse.Namespace) -> int:
    reviews = Client().send(operations.reviews())["reviews"]
    if arguments.json:
        print_json(reviews)
        return exit_codes.OK
    for review in reviews:
        sys.stdout.write(f"{_line(review)}\n")
    return exit_codes.OK


def _line(review: dict[str, Any]) -> str:
    content = _one_line(review["content"])
    if len(content) > _LONGEST_PREVIEW:
        content = f"{content[:_LONGEST_PREVIEW]}… ({len(review['content'])} characters)"
    head = f"{review['id']}  {review['seconds_left']:.0f} s left, {review['context']}"
    arguments = sum(each.startswith("$") for each in review["details"]) - 1
    more = f" (and {arguments} arguments: see redlane review show)"
    text = f"{content}{more if arguments > 0 else ''}"
    return single_line(f"{head}, session {review['session']}: {text}")


def _one_line(text: str) -> str:
    return visible(text).replace("\n", "⏎").replace("\t", " ")


def _show(arguments: argparse.Namespace) -> int:
    review = Client().send(operations.review(arguments.id))
    if arguments.json:
        print_json(review)
        return exit_codes.OK
    for name in ("id", "state", "session", "context", "policy", "reason", "created"):
        sys.stdout.write(f"{name + ':':<11}{single_line(str(review[name]))}\n")
    if review["seconds_left"] is not None:
        action = f"then {review['timeout_action']}"
        sys.stdout.write(f"{'left:':<11}{review['seconds_left']} s, {action}\n")
    for detail in review["details"]:
        sys.stdout.write(f"{_one_line(detail)}\n")
    _print_content("content", review["content"])
    if review["modified"] is not None:
        _print_content("what would go on in its place", review["modified"])
    return exit_codes.OK


def _print_content(title: str, text: str) -> None:
    """All of it, each line behind a bar, so that none can pass for one of ours."""
    lines = visible(text).split("\n")
    sys.stdout.write(f"{title} ({len(text)} characters, {len(lines)} lines):\n")
    sys.stdout.writelines(f"| {line}\n" for line in lines)


def _decide(arguments: argparse.Namespace) -> int:
    wanted = operations.decide(arguments.id, arguments.decision, arguments.note)
    review = Client().send(wanted)
    print_note(f"review {review['id']} is {review['state']}")
    return exit_codes.OK
