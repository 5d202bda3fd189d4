"""Rewriting content for a Modify; any failure is an error, never the original."""

import functools
import time
from collections.abc import Callable

from redlane.errors import RedlaneError
from redlane.execution import (
    CHECK_SECONDS,
    Command,
    run_all,
    seconds_left,
    split_command,
)
from redlane.model.content import Content, Reader
from redlane.model.policy import Action, Transform, TransformType
from redlane.patterns import CompiledPattern, compile_pattern, substitute

__all__ = ["TransformError", "apply", "changes_inside"]

_Change = Callable[[bytes], bytes]


class TransformError(RedlaneError):
    """Content could not be rewritten, so it must not go on (policy format: Block)."""


def apply(transform: Transform, content: Content) -> Content:
    """`content`, rewritten by `transform` within `CHECK_SECONDS`, if as many are left.

    The time is that of the whole content: a tool call is rewritten text by text. Raises
    TransformError for whatever goes wrong.
    """
    try:
        change = _within_time(_change(transform))
        if transform.spares_credentials:
            return content.rewritten_beside_credentials(change)
        return content.rewritten(change)
    except TransformError:
        raise
    except RedlaneError as error:
        raise TransformError(str(error)) from error


def changes_inside(transform: Transform, content: Content) -> bool:
    """Whether it would change a text in `content` that no Modify reaches.

    Such are what is encoded in a request or a tool call, and what stands beside the
    arguments of one. Raises TransformError as `apply` does.
    """
    if transform.spares_credentials:
        content = content.without_credentials()
    reached = frozenset(content.views(Action.MODIFY, Reader.PATTERN))
    seen = content.views(Action.BLOCK, Reader.PATTERN)
    change = _within_time(_change(transform))
    try:
        return any(change(each) != each for each in seen if each not in reached)
    except TransformError:
        raise
    except RedlaneError as error:
        raise TransformError(str(error)) from error


def _change(transform: Transform) -> Callable[[bytes, float], bytes]:
    """What a transform does to one text in so many seconds."""
    if transform.type is TransformType.EXECUTABLE:
        return functools.partial(_piped, split_command(transform.command))
    return functools.partial(
        _substituted, _compiled(transform.pattern), transform.replacement
    )


def _within_time(change: Callable[[bytes, float], bytes]) -> _Change:
    """`change` for one text after the other, all of them in the time of one."""
    seconds = seconds_left(CHECK_SECONDS)
    end = time.monotonic() + seconds

    def changed(text: bytes) -> bytes:
        left = end - time.monotonic()
        if left <= 0:
            raise TransformError(f"took more than {round(seconds, 1) or 0.1:g} seconds")
        return change(text, left)

    return changed


def _piped(words: tuple[str, ...], text: bytes, seconds: float) -> bytes:
    """What the command writes, when it ends with status 0."""
    (ending,) = run_all([Command(words, text, keeps_output=True)], seconds=seconds)
    if ending.failure is not None or ending.status != 0:
        raise TransformError(f"{words[0]!r} {ending.told}")
    return ending.output


def _substituted(
    compiled: CompiledPattern, replacement: str, text: bytes, seconds: float
) -> bytes:
    return substitute(compiled, replacement, text, seconds=seconds)


@functools.lru_cache(maxsize=1024)
def _compiled(pattern: str) -> CompiledPattern:
    """A compiled pattern, kept: policies are few and are used for each content."""
    return compile_pattern(pattern)
