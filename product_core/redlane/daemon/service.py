"""The running daemon: builds every object once, wires them, and serves.

Nothing here decides anything: the gate judges, the control API serves, the state
remembers. What must hold before the socket answers is checked in the order in which it
can go wrong.
"""

import gc
import logging
import os
import resource
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from redlane.control.app import create_app, shell_desk
from redlane.control.processes import Ancestry
from redlane.control.server import ControlServer
from redlane.control.shell_socket import ShellSocket
from redlane.control.sockets import private_directory
from redlane.daemon.lifecycle import Outcome, Report
from redlane.daemon.listeners import Listeners, listen
from redlane.daemon.lock import DaemonLock
from redlane.daemon.logs import start_logging
from redlane.daemon.notify import Notifier
from redlane.daemon.options import Options
from redlane.daemon.parts import Parts, build
from redlane.daemon.rules import Rules
from redlane.daemon.runtime_files import write_shims, write_timeout
from redlane.daemon.signals import handle_signals, signals_held_back
from redlane.errors import RedlaneError
from redlane.model.problem import Finding
from redlane.paths import Paths
from redlane.plugins import find_plugins
from redlane.policies.loading import load

__all__ = ["Start", "serve", "start_errors"]

_DRAIN_SECONDS = 4.0
_MOST_FILES = 8192
_FAILED = 2

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Start:
    """Where and how to run, and who asked for it."""

    paths: Paths
    options: Options
    environ: Mapping[str, str]
    starter: Ancestry
    foreground: bool = False


def serve(start: Start, report: Report) -> int:
    """Run the daemon to its end; the exit status.

    Tells `report` when the socket answers, or what is wrong, which is status 2 then.
    Raises RedlaneError when it cannot even look.
    """
    paths = start.paths
    private_directory(paths.run)
    lock = DaemonLock(paths.run / "daemon.lock", start.options.to_arguments())
    start_logging(paths.logs / "daemon.log", to_stderr=start.foreground)
    rules = _load_rules(start)
    errors = _errors(start.options, rules)
    if errors:
        report(Outcome(os.getpid(), errors=errors))
        lock.release()
        return _FAILED
    lock.keep_options()
    _raise_limits()
    parts = build(paths, start.options, rules, booted_since=lock.booted_since)
    kept = parts.restore_sessions(start.starter)
    write_shims(paths)
    write_timeout(paths, rules.loaded.settings)
    notes = [*map(_line, rules.loaded.warnings), *kept]
    notes += [str(each["message"]) for each in parts.rendering.warnings(())]
    for note in notes:
        _log.warning("%s", note)
    gc.collect()
    gc.freeze()  # what is loaded stays: later collections need not look at it
    _serve(start, parts, lambda: report(Outcome(os.getpid(), notes=tuple(notes))))
    parts.close()
    lock.release()
    _log.info("stopped")
    return 0


def start_errors(start: Start) -> tuple[str, ...]:
    """Why a start would be refused as things are, a line each."""
    return _errors(start.options, _load_rules(start))


def _serve(start: Start, parts: Parts, ready: Callable[[], None]) -> None:
    """Serve from the moment when `ready` is called to the signal that ends it."""
    with signals_held_back():
        listeners = listen(start.paths, start.environ)
        daemon = _Daemon(start, parts, listeners)
        server = daemon.server
        handle_signals(server.call, stop=daemon.stop, reload=daemon.reload)
    ready()
    daemon.run()
    listeners.remove()


def _load_rules(start: Start) -> Rules:
    """Load as every reload will, the restriction to roles included."""
    only = start.options.only_roles
    restriction = None if only is None else frozenset(only)
    loader = partial(load, start.paths, find_plugins(), restriction)
    return Rules(loader, loader())


class _Daemon:
    """What the signals do to the running service."""

    def __init__(self, start: Start, parts: Parts, listeners: Listeners) -> None:
        self._start = start
        self._parts = parts
        self._listeners = listeners
        self._notifier = Notifier(start.environ)
        self._deadline = 0.0
        self.server = ControlServer(create_app(parts), listeners.control)
        self._shell = ShellSocket(
            listeners.shell, shell_desk(parts).answer, parts.reviews.cancel
        )

    def run(self) -> None:
        """Serve until `stop`."""
        self._notifier.ready()
        _log.info("process %d serves %s", os.getpid(), self._start.paths.socket)
        self._shell.start()
        self.server.run()
        self._shell.wait(self._deadline - time.monotonic())

    def stop(self) -> None:
        """Answer what runs, block what is held, and let `run` return."""
        _log.info("stopping")
        self._notifier.stopping()
        self._deadline = time.monotonic() + _DRAIN_SECONDS
        self._shell.drain(shared=self._listeners.shell_is_shared)
        self.server.drain(_DRAIN_SECONDS)
        self._parts.release_waiters()

    def reload(self) -> None:
        """Reload in a thread of its own: verdicts go on meanwhile."""
        threading.Thread(target=self._reload, name="reload", daemon=True).start()

    def _reload(self) -> None:
        self._notifier.reloading()
        try:
            for error in self._parts.reload().errors:
                _log.error("the reload changed nothing: %s", _line(error))
        except RedlaneError as error:
            _log.error("the reload changed nothing: %s", error)  # its message says all
        self._notifier.ready()


def _line(finding: Finding) -> str:
    """A finding as one line, naming the file and the policy or role."""
    subject = f" {finding.subject}:" if finding.subject else ""
    return f"{finding.file}:{subject} {finding.message}"


def _errors(options: Options, rules: Rules) -> tuple[str, ...]:
    return (*map(_line, rules.loaded.errors), *_role_errors(options, rules))


def _role_errors(options: Options, rules: Rules) -> list[str]:
    if options.role is None or options.role in rules.ruleset.roles:
        return []
    known = ", ".join(sorted(rules.ruleset.roles)) or "none"
    return [f"--role {options.role}: there is no role of that name (loaded: {known})"]


def _raise_limits() -> None:
    """Room for many connections: each takes two descriptors."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
