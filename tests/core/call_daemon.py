"""Policies on system calls, and a daemon that serves them to a session."""

import threading
from collections.abc import Mapping
from typing import Any

from core.policy_home import PLUGINS, simple

from redlane.client import Operation
from redlane.contexts.syscall.binding import Binding
from redlane.contexts.syscall.judge import SessionJudge
from redlane.contexts.syscall.link import Link
from redlane.contexts.syscall.rules import read_rules
from redlane.contexts.syscall.surroundings import Surroundings
from redlane.model.content import SystemCall
from redlane.policies.parsing import parse_policy
from redlane.policies.policy_document import document_of
from redlane.policies.sources import Entry

__all__ = [
    "AROUND",
    "BLOCK",
    "CHECK",
    "ETC",
    "FLAG",
    "HOME",
    "KILL",
    "UNLINK",
    "Daemon",
    "documents",
    "judged",
    "linked",
]

AROUND = Surroundings(home="/home/ada", work="/srv/work")
ETC = SystemCall("open", ("link", "/etc/passwd"), {"pid": 7, "args": [1, 2]})
HOME = SystemCall("open", ("/home/x", "/home/x"))
UNLINK = SystemCall("unlink", ("/home/x",))
BLOCK = simple("etc", "/etc/", context="Syscall", syscall=["open"])
FLAG = simple("flag", None, action="Flag", context="Syscall", syscall="unlink")
KILL = simple("kill", None, context="Syscall", syscall="ptrace", kill=True)
CHECK = {**simple("check", "true", context="Syscall", syscall="execve")}
CHECK["type"] = "Executable"


def documents(*policies: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Policies as the daemon sends them."""
    found = []
    for order, policy in enumerate(policies):
        parsed = parse_policy(Entry("p.json", "", dict(policy)), order, PLUGINS)
        assert parsed.policy is not None, parsed.findings
        found.append({**document_of(parsed.policy), "order": order})
    return found


class Daemon:
    """Answers as the daemon does, and notes what it is told."""

    def __init__(self, *policies: Mapping[str, Any], **fields: Any) -> None:
        self.answer: Any = {
            "generation": "1",
            "role": "r",
            "ruleset": "d" * 64,
            "policies": documents(*policies),
            "restrictions": [],
            "frozen": False,
            "options": {
                "namespaces": False,
                "ebpf": False,
                "writable": None,
                "allowed": [],
                "hidden": [],
            },
            "reason": "",
            "timeout_seconds": 0.2,
            "known": True,
            "daemon": 1,
            "own_files": {"kept": [], "closed": []},
            **fields,
        }
        self.error: Exception | None = None
        self.told: list[Mapping[str, Any]] = []
        self.asked: list[Mapping[str, Any]] = []
        self.verdict: dict[str, Any] = {"verdict": "BLOCK", "policy": "check"}
        self.changed = threading.Condition()

    def send(self, operation: Operation) -> Any:
        path, body = operation.path, operation.body
        if path == "/api/analyze":
            assert body is not None
            self.asked.append(body)
            return self._checked(self.verdict)
        assert path.startswith("/api/sessions/s/syscalls")
        if operation.method == "POST":
            assert body is not None
            self._checked(None)
            self.told.append(body)
            return {}
        with self.changed:
            if "after=" in path:
                seconds = operation.hold_seconds
                self.changed.wait_for(lambda: self._is_news(path), seconds)
            return self._checked(self.answer)

    def _checked(self, answer: Any) -> Any:
        if self.error is not None:
            raise self.error
        return answer

    def _is_news(self, path: str) -> bool:
        return self.error is not None or (
            f"after={self.answer['generation']}&" not in path
        )

    def become(self, error: Exception | None = None, **fields: Any) -> None:
        """Change, and wake who waits for that."""
        with self.changed:
            self.error = error
            self.answer = {**self.answer, **fields}
            self.changed.notify_all()


def linked(daemon: Daemon) -> Link:
    types = PLUGINS.match_types
    binding = Binding(AROUND)
    return Link(daemon, "s", lambda found: read_rules(found, types, binding))


def judged(daemon: Daemon) -> SessionJudge:
    return SessionJudge(linked(daemon))
