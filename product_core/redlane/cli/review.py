"""`redlane review`: decide what the yellow lane holds."""

import argparse
import sys

from redlane.cli import exit_codes
from redlane.cli.hub.asking import read_password
from redlane.cli.output import print_json, print_note
from redlane.cli.parser import Commands, add_command, add_group
from redlane.cli.spans import span_of
from redlane.client import Client, operations
from redlane.errors import UsageError
from redlane.model.password import hashed
from redlane.model.review_text import Review, alike, headline, lines_of
from redlane.wire.limits import MOST_DECISION_SECONDS, MOST_DECISION_TIMES

__all__ = ["register"]


def register(commands: Commands) -> None:
    """Add `redlane review` and what it holds."""
    group = add_group(
        commands,
        "review",
        summary="decide what the yellow lane holds, on a terminal or by commands",
        examples="""
            redlane review
            redlane review list
            redlane review show 4f2a90c1d2e3b4a5
            redlane review allow 4f2a90c1d2e3b4a5 --note 'only this once'
            redlane review allow 4f2a90c1d2e3b4a5 --for 10m
            redlane review block 4f2a90c1d2e3b4a5
        """,
        run=_open,
    )
    _add_lists(group)
    _add_decisions(group)
    add_command(
        group,
        "notify",
        _notify,
        summary="show what is held as notifications of the desktop, and decide there",
        description="""
            Show what is held as notifications of this desktop (freedesktop.org), until
            it ends. Each has buttons that decide; a long one comes in pages, and can
            be allowed on the last one. redlane-notify.service of a user does this.
        """,
        examples="redlane review notify",
    )
    _add_password(group)
    revoke = add_command(
        group,
        "revoke",
        _revoke,
        summary="have a decision count no more, for the same or what a text starts",
        examples="redlane review revoke ID",
    )
    revoke.add_argument("id", metavar="ID", help="the review")


def _add_lists(group: Commands) -> None:
    listing = add_command(
        group,
        "list",
        _list,
        summary="list what is held",
        examples="""
            redlane review list --json
            redlane review list --over
        """,
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
    listing.add_argument(
        "--over", action="store_true", help="list the latest decided ones as well"
    )
    for parser in (listing, show):
        parser.add_argument("--json", action="store_true", help="print JSON")
    show.add_argument("id", metavar="ID", help="the review")


def _add_password(group: Commands) -> None:
    password = add_command(
        group,
        "password",
        _password,
        summary="make what a password for answers by a link is known by",
        description="""
            Ask for a new password, and print what settings.json knows it by:
            `answer_password` of `review.webhook`. The password itself is kept nowhere.
        """,
        examples="redlane review password",
    )
    password.add_argument(
        "--password-stdin",
        action="store_true",
        help="read the password from standard input, a line",
    )


def _add_decisions(group: Commands) -> None:
    for decision in ("allow", "block"):
        parser = add_command(
            group,
            decision,
            _decide,
            summary=f"{decision} what is held, once or the same for a while",
            description=f"""
                {decision.capitalize()} what is held. It counts once, unless --times or
                --for say that it counts for the same again: the same content in the
                same session, role and directory, with the same variables, and with the
                files that it names and the programs that it starts as they are. It ends
                with the session, when that is frozen, when the rules change, and with
                redlane review revoke.
            """,
            examples=f"""
                redlane review {decision} ID --note 'asked Ada'
                redlane review {decision} ID --times 5 --for 10m
            """,
        )
        parser.set_defaults(decision=decision)
        parser.add_argument("--note", help="why; told to whoever asked, and logged")
        parser.add_argument(
            "--times",
            type=int,
            metavar="N",
            help="this one and N - 1 more",
        )
        parser.add_argument(
            "--for",
            dest="span",
            metavar="TIME",
            help="the same for so long, such as 30s, 10m, 2h (at most 1d)",
        )
        parser.add_argument("id", metavar="ID", help="the review")


def _password(arguments: argparse.Namespace) -> int:
    password = read_password(from_stdin=arguments.password_stdin, is_new=True)
    sys.stdout.write(f"{hashed(password)}\n")
    return exit_codes.OK


def _list(arguments: argparse.Namespace) -> int:
    reviews = Client().send(operations.reviews(over=arguments.over))["reviews"]
    if arguments.json:
        print_json(reviews)
        return exit_codes.OK
    for first, *others in alike(reviews):
        more = f" (and {len(others)} more: --times {len(others) + 1})" if others else ""
        sys.stdout.write(f"{_line(first)}{more}\n")
    return exit_codes.OK


def _line(review: Review) -> str:
    left = review["seconds_left"]
    when = review["state"] if left is None else f"{left:.0f} s left"
    return f"{review['id']}  {when}, {headline(review)}"


def _show(arguments: argparse.Namespace) -> int:
    review = Client().send(operations.review(arguments.id))
    if arguments.json:
        print_json(review)
    else:
        sys.stdout.writelines(f"{line}\n" for line in lines_of(review))
    return exit_codes.OK


def _open(_arguments: argparse.Namespace) -> int:
    # Imported on use: no other command needs a terminal's library.
    from redlane.cli.review_screen import show_reviews  # noqa: PLC0415

    return show_reviews()


def _notify(_arguments: argparse.Namespace) -> int:
    # Imported on use: no other command needs a desktop's library.
    import asyncio  # noqa: PLC0415

    from redlane.cli.notify.notifier import notify  # noqa: PLC0415

    asyncio.run(notify())
    return exit_codes.OK


def _decide(arguments: argparse.Namespace) -> int:
    times = arguments.times
    if times is not None and not 1 <= times <= MOST_DECISION_TIMES:
        raise UsageError(
            f"--times {times}: from 1, which is this one, to {MOST_DECISION_TIMES}"
        )
    wanted = operations.decide(
        arguments.id,
        arguments.decision,
        arguments.note,
        times=times,
        seconds=_seconds(arguments.span),
    )
    review = Client().send(wanted)
    print_note(f"review {review['id']} is {review['state']}")
    return exit_codes.OK


def _revoke(arguments: argparse.Namespace) -> int:
    Client().send(operations.revoke(arguments.id))
    print_note(f"the decision of {arguments.id} counts no more")
    return exit_codes.OK


def _seconds(text: str | None) -> int | None:
    """So many seconds; raises UsageError for what is no time, or too long a one."""
    if text is None:
        return None
    span = span_of(text)
    seconds = round(span.total_seconds()) if span else 0
    if not 1 <= seconds <= MOST_DECISION_SECONDS:
        raise UsageError(f"--for {text}: give 30s, 10m, 2h, at most 1d")
    return seconds
