"""Hooks taken straight to what handles them.

mitmproxy asks every addon about every hook, twice over, and goes on where one fails. A
request that a hook has failed on goes nowhere here.
"""

import inspect
import logging
from collections.abc import Callable, Sequence

from mitmproxy import http
from mitmproxy.proxy import commands

__all__ = ["Hooks"]

_log = logging.getLogger(__name__)

_Handler = Callable[..., object]


class Hooks:
    """What addons have for each hook, in their order."""

    def __init__(self, addons: Sequence[object]) -> None:
        """Look up nothing before the first hook of a name."""
        self._addons = tuple(addons)
        self._known: dict[str, tuple[_Handler, ...]] = {}

    async def run(self, hook: commands.StartHook) -> None:
        """Have a hook handled by everybody who has something of its name."""
        arguments = hook.args()
        for handler in self._handlers(hook.name):
            try:
                result = handler(*arguments)
                if inspect.isawaitable(result):
                    await result
            except Exception:  # noqa: BLE001  # the boundary, see above
                _log.exception("the hook %s of the proxy failed", hook.name)
                _end(arguments)
                return

    def _handlers(self, name: str) -> tuple[_Handler, ...]:
        found = self._known.get(name)
        if found is None:
            named = (getattr(addon, name, None) for addon in self._addons)
            found = self._known[name] = tuple(filter(callable, named))
        return found


def _end(arguments: Sequence[object]) -> None:
    """Let nothing more of a request pass, if it is one that the hook is about."""
    for each in arguments:
        if isinstance(each, http.HTTPFlow) and each.killable:
            each.kill()
