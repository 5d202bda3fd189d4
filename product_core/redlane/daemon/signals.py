"""Signals of the running daemon: TERM and INT end it in order, HUP reloads."""

import signal
from collections.abc import Callable
from types import FrameType

__all__ = ["handle_signals"]


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
