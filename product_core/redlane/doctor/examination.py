"""The whole examination: a session is opened, every boundary tried, and told of."""

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from redlane.client import Client, operations
from redlane.contexts.syscall.surroundings import Surroundings
from redlane.doctor.bystander import Bystander, bystander
from redlane.doctor.elsewhere import (
    file_elsewhere,
    hidden_place,
    service_outside,
)
from redlane.doctor.findings import Examination, Finding
from redlane.doctor.held_calls import held_calls
from redlane.doctor.judged import confirmed
from redlane.doctor.session import in_session
from redlane.doctor.targets import Targets
from redlane.paths import Paths

__all__ = ["examine"]

_MOST_EVENTS = 1000
_NO_FIELD = "the role does not say where its sessions may write"
_NOT_HIDING = "the role hides nothing from its sessions"
_NOTHING_THERE = "nothing of what the role hides is there"
_NONE_LISTENS = "no service listens that the role hides"
_EVERYWHERE = "the role's `writable` leaves out no place where you may write"
Document = Mapping[str, Any]


def examine(paths: Paths, role: str | None) -> Examination:
    """Try every boundary of a session of `role`, in the daemon that `paths` lead to.

    Raises RedlaneError where there is no daemon, or no session is opened.
    """
    client = Client(paths.socket)
    status = client.send(operations.status())
    with bystander() as aim, in_session(role) as patient:
        name = patient.hear()
        session = client.send(operations.session(name))
        targets = _targets(aim, paths, status, session)
        patient.tell(targets.line())
        try:
            found = [Finding.of(each) for each in json.loads(patient.hear())]
        finally:
            _tidy_up(targets)
        events = _events(client, name)
        session = client.send(operations.session(name))
    findings = [confirmed(each, aim.token, events) for each in found]
    return Examination(session["role"], [*findings, held_calls(session["syscalls"])])


def _targets(
    aim: Bystander, paths: Paths, status: Document, session: Document
) -> Targets:
    calls, proxy = session["syscalls"], status["proxy"]
    elsewhere, why = _elsewhere(calls["writable"], aim.token)
    around = Surroundings.of_this_process()
    hidden = hidden_place(calls["hidden"], around)
    service = service_outside(calls["hidden"], around)
    return Targets(
        token=aim.token,
        bystander=aim.pid,
        daemon=status["pid"],
        abstract_socket=aim.abstract_socket,
        port=aim.port,
        shell_copy=str(aim.shell_copy),
        own_file=str(_own_directory(paths, status) / aim.token),
        file_elsewhere=elsewhere,
        why_nowhere=why,
        hidden=hidden,
        why_nothing=_NOTHING_THERE if calls["hidden"] else _NOT_HIDING,
        service=service,
        why_no_service=_NONE_LISTENS if calls["hidden"] else _NOT_HIDING,
        holds_connections=not calls["guarded"],
        intercepting=bool(proxy["intercepting"]),
        no_proxy="" if proxy["installed"] else str(proxy["problem"]),
        named=calls["named"],
        egress=calls["egress"],
    )


def _own_directory(paths: Paths, status: Document) -> Path:
    """Where the daemon has its policies: files that end otherwise are not loaded."""
    machine = Paths.system()
    home = machine if status["socket"] == str(machine.socket) else paths
    return home.policies if os.access(home.policies, os.F_OK) else home.home


def _elsewhere(writable: Sequence[str] | None, name: str) -> tuple[str | None, str]:
    """A file that the role lets nobody make, or why there is none."""
    if writable is None:
        return None, _NO_FIELD
    path = file_elsewhere(writable, Surroundings.of_this_process(), name)
    return path, "" if path else _EVERYWHERE


def _events(client: Client, session: str) -> Sequence[Document]:
    asked = operations.events(session=session, context="Network", limit=_MOST_EVENTS)
    events: Sequence[Document] = client.send(asked)["events"]
    return events


def _tidy_up(targets: Targets) -> None:
    """Take away what a session made, that may not have been able to itself."""
    for each in filter(None, (targets.own_file, targets.file_elsewhere)):
        with suppress(OSError):  # it is not there, as a rule
            Path(each).unlink()
