"""The daemon from its start to its end: loads, builds every object once, and serves.

Nothing here decides anything: the gate judges, the control API serves, the state
remembers. What must hold before the socket answers is checked in the order in which it
can go wrong.
"""

import gc
import logging
import os
import resource
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from redlane.contexts.network.installed import MISSING, proxy_command
from redlane.daemon.container import build
from redlane.daemon.findings import fields_of, line_of
from redlane.daemon.journal import journal_of
from redlane.daemon.lifecycle import Outcome, Report
from redlane.daemon.listeners import listen
from redlane.daemon.lock import DaemonLock
from redlane.daemon.logs import start_logging
from redlane.daemon.notify import Notifier
from redlane.daemon.options import Options
from redlane.daemon.refusal import turn_away
from redlane.daemon.rules import Rules
from redlane.daemon.running import Running
from redlane.daemon.runtime_files import write_shims, write_timeout
from redlane.daemon.signals import signals_held_back
from redlane.daemon.sockets import PassedSocket, passed_sockets, private_directory
from redlane.errors import RedlaneError
from redlane.membership.callers import Admission
from redlane.model.problem import Finding, Severity
from redlane.paths import Paths
from redlane.plugins import find_plugins
from redlane.policies.loaded import Loaded
from redlane.policies.loading import load
from redlane.policies.traffic import with_proxy
from redlane.processes import Ancestry

__all__ = ["Start", "serve", "start_errors"]

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
    Raises RedlaneError when it cannot even look. Whose connection started it is told
    as well, whatever it was that went wrong.
    """
    passed = passed_sockets(start.environ)
    admission = Admission.of_machine() if start.paths.is_system else Admission()
    try:
        errors = _serve(start, passed, report)
    except Exception as error:
        known = isinstance(error, RedlaneError)
        reason = str(error) if known else "internal error (see its log)"
        turn_away(passed, admission, f"the daemon does not start: {reason}")
        raise
    if not errors:
        return 0
    lines = tuple(map(line_of, errors))
    if _logs_to_journal(start):
        for each in errors:
            _log.error("not started: %s", line_of(each), extra=fields_of(each))
    else:
        report(Outcome(os.getpid(), errors=lines))
    Notifier(start.environ).failed(lines[0])
    count = f"{len(errors)} load error{'s' * (len(errors) > 1)}"
    turn_away(passed, admission, f"{count}: the daemon does not start", errors)
    return _FAILED


def start_errors(start: Start) -> tuple[str, ...]:
    """Why a start would be refused as things are, a line each."""
    return tuple(map(line_of, _errors(start.options, _load_rules(start))))


def _serve(
    start: Start, passed: Sequence[PassedSocket], report: Report
) -> tuple[Finding, ...]:
    """Serve until a signal ends it; the errors for which nothing was served."""
    paths = start.paths
    private_directory(paths.run, is_open=paths.is_system)
    lock = DaemonLock(paths.run / "daemon.lock", start.options.to_arguments())
    start_logging(paths.logs / "daemon.log", start.environ, to_stderr=start.foreground)
    rules = _load_rules(start)
    errors = _errors(start.options, rules)
    if errors:
        lock.release()
        return errors
    lock.keep_options()
    _raise_limits()
    parts = build(
        paths, start.options, rules, start.environ, booted_since=lock.booted_since
    )
    kept = parts.restore_sessions(start.starter)
    watch = parts.membership.watch
    threading.Thread(target=watch, name="losses", daemon=True).start()
    parts.reviewing.answering.refresh()
    write_shims(paths)
    write_timeout(paths, rules.loaded.settings)
    for warning in rules.loaded.warnings:
        _log.warning("%s", line_of(warning), extra=fields_of(warning))
    notes = [*kept, *(str(each["message"]) for each in parts.rendering.warnings(()))]
    for note in notes:
        _log.warning("%s", note)
    notes[:0] = map(line_of, rules.loaded.warnings)
    gc.collect()
    gc.freeze()  # what is loaded stays: later collections need not look at it
    notifier = Notifier(start.environ)
    with signals_held_back():
        listeners = listen(paths, passed)
        running = Running(parts, listeners, notifier, rules.verdict_seconds)
        running.take_signals()
    if not _logs_to_journal(start):
        report(Outcome(os.getpid(), notes=tuple(notes)))
    parts.proxying.resume()
    parts.served_contexts.start()
    running.run()
    parts.served_contexts.stop()
    parts.members.close()
    parts.proxying.stop()
    parts.reviewing.answering.stop()
    listeners.remove()
    parts.close()
    lock.release()
    _log.info("stopped")
    return ()


def _logs_to_journal(start: Start) -> bool:
    """Whether what `report` would print is in the journal already, with its fields."""
    return start.foreground and journal_of(start.environ) is not None


def _load_rules(start: Start) -> Rules:
    """Load as every reload will, the restriction to roles included."""
    only = start.options.only_roles
    restriction = None if only is None else frozenset(only)
    plugins, missing = find_plugins(), None if proxy_command() else MISSING

    def loader() -> Loaded:
        return with_proxy(load(start.paths, plugins, restriction), missing)

    return Rules(loader, loader(), plugins)


def _errors(options: Options, rules: Rules) -> tuple[Finding, ...]:
    return (*rules.loaded.errors, *_role_errors(options, rules))


def _role_errors(options: Options, rules: Rules) -> tuple[Finding, ...]:
    if options.role is None or options.role in rules.ruleset.roles:
        return ()
    known = ", ".join(sorted(rules.ruleset.roles)) or "none"
    message = f"there is no role of that name (loaded: {known})"
    return (Finding(Severity.ERROR, "", f"--role {options.role}", message),)


def _raise_limits() -> None:
    """Room for many connections: each takes two descriptors."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
