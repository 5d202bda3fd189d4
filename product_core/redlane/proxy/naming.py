"""Judges a request before its host is looked up: a look-up tells a stranger the name.

What is blocked is told to nobody, and what is held to nobody before its decision. So
the verdict is first sought without addresses; once there are some, they count as well.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol

from redlane.proxy.resolving import Found
from redlane.wire.answer import Answer
from redlane.wire.question import QuestionKind

__all__ = ["AskRequest", "ask_unnamed"]


class AskRequest(Protocol):
    """Asks about one request, by what its host's name leads to."""

    def __call__(
        self, found: Found, kind: QuestionKind = QuestionKind.JUDGE
    ) -> Awaitable[Answer]:
        """The answer; the kind `preview` is neither written down nor held."""
        ...


async def ask_unnamed(
    ask: AskRequest,
    look_up: Callable[[], Awaitable[Found]],
    refuse: Callable[[Found], Awaitable[Answer | None]],
) -> tuple[Answer, Found]:
    """What becomes of a request to a name that is not known yet, and where it leads.

    `refuse` gives an answer to what may lead nowhere of the kind found.
    """
    first = await ask((), QuestionKind.PREVIEW)
    if first.refused:
        return first, ()
    decided = await ask(()) if first.blocked else None
    if decided is not None and decided.blocked:
        return decided, ()
    found = await look_up()
    refused = await refuse(found)
    if refused is not None:
        return refused, found
    if decided is not None:  # by a person, who may not have known of the addresses
        last = await ask(found, QuestionKind.PREVIEW)
        if last.flagged or not last.blocked:
            return decided, found
    return await ask(found), found
