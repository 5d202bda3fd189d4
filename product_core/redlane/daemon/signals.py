"""Signals of the running daemon: TERM and INT end it in order, HUP reloads."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["handle_signals", "signals_held_back"]

_HANDLED = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP})


@contextmanager
def signals_held_back() -> Iterator[None]:
    """Let the signals that are handled wait until the end of the block.

    One that came after the socket is there and before its handler is would leave the
    socket behind. To block it would be of no use: any other thread would take it.
    """
    came: list[int] = []

    def hold(number: int, _: FrameType | None) -> None:
        came.append(number)

    before = {each: signal.signal(each, hold) for each in _HANDLED}
    try:
        yield
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is hold:
                signal.signal(number, handler)
        for each in came:
            signal.raise_signal(each)


def handle_signals(
    call: Callable[[Callable[[], None]], None],
    *,
    stop: Callable[[], None],
    reload: Callable[[], None],
) -> None:
    """Pass `stop` or `reload` to `call` when its signal comes.

    A handler interrupts whatever the main thread does, so it only leaves word.
    """

    def on_stop(_: int, __: FrameType | None) -> None:
        call(stop)

    def on_reload(_: int, __: FrameType | None) -> None:
        call(reload)

    signal.signal(signal.SIGTERM, on_stop)
    signal.signal(signal.SIGINT, on_stop)
    signal.signal(signal.SIGHUP, on_reload)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
