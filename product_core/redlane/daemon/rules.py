"""The rules in force, and the reload that swaps them by one reference.

A reload is the original load again, its restriction to roles included. Whatever is
wrong with it, the rules of before stay as they are.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import replace

from redlane.plugins import Plugins
from redlane.policies.check import compile_errors
from redlane.policies.loaded import Loaded
from redlane.policies.ruleset import RuleSet

__all__ = ["Rules", "compiled"]


def compiled(loaded: Loaded) -> Loaded:
    """What was loaded, with each role compiled, or an error why one cannot be.

    A role that does not compile would block everything without a word; one that does
    is ready before it is in force, so that no verdict waits for it.
    """
    if loaded.errors:
        return loaded
    return replace(loaded, findings=(*loaded.findings, *compile_errors(loaded)))


class Rules:
    """Holds what was loaded; readers never wait for a reload."""

    def __init__(
        self,
        load: Callable[[], Loaded],
        loaded: Loaded,
        plugins: Plugins | None = None,
    ) -> None:
        """`load` made `loaded` and will make all that come after it, with `plugins`."""
        self.plugins = plugins or Plugins({}, ())
        self._load = load
        self._loaded = compiled(loaded)
        self._reloading = threading.Lock()
        self.last_reload: float | None = None
        self.on_change: Callable[[], None] = lambda: None
        """Called when other rules are in force."""

    @property
    def loaded(self) -> Loaded:
        """What is in force."""
        return self._loaded

    @property
    def ruleset(self) -> RuleSet:
        """The rules in force."""
        return self._loaded.ruleset

    def verdict_seconds(self) -> float:
        """How long a command of the shell wrapper waits for its verdict."""
        return self._loaded.settings.sevsh.validation_timeout_seconds

    def reload(self, prepare: Callable[[Loaded], None]) -> Loaded:
        """Load again; what is returned is in force if it has no errors.

        `prepare` may raise to keep the old rules.
        """
        with self._reloading:
            fresh = compiled(self._load())
            if not fresh.errors:
                prepare(fresh)
                self._loaded = fresh
                self.on_change()
                self.last_reload = time.time()
            return fresh
