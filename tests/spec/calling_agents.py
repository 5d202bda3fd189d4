"""Agents of `redlane run` that make system calls as a test tells them."""

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from spec.cases import regex
from spec.redlane_home import wait_for
from supervised import EXACT, Guarded

__all__ = ["Agent", "Agents", "Call", "descendants", "on_paths", "placed"]

CALLING = Path(__file__).with_name("calling.py")
Policy = dict[str, Any]
Call = tuple[object, ...]


def on_paths(action: str, pattern: str, *calls: str, **fields: object) -> Policy:
    """A path filter in context Syscall."""
    names = list(calls or EXACT)
    return regex(action, pattern, syscall=names, context="Syscall", **fields)


class Agents:
    """Agents in sessions of roles, which the test makes up as it needs them."""

    def __init__(self, place: Guarded) -> None:
        self.place = place
        self.work = place.work
        self.home = place.home
        self._roles = 0

    def role(self, *policies: Policy) -> str:
        """A role of these policies, on disk; the daemon does not know it yet."""
        self._roles += 1
        name = f"role{self._roles}"
        named = [
            {"id": f"{name}-{number}", **each} for number, each in enumerate(policies)
        ]
        self.home.policies(*named, file=f"{name}.json")
        self.home.role(name, *(each["id"] for each in named))
        return name

    def reload(self) -> Any:
        """Have the daemon read what is on disk."""
        answer = self.home.control.post("/api/policies/reload", {})
        assert answer.status == 200, answer
        return answer.json

    @contextmanager
    def agent(self, *policies: Policy) -> Iterator["Agent"]:
        """An agent in a session of a role of these policies."""
        role = self.role(*policies)
        self.reload()
        with self.agent_of(role) as agent:
            yield agent

    @contextmanager
    def agent_of(self, role: str) -> Iterator["Agent"]:
        """An agent in a session of that role."""
        with self.place.running("/usr/bin/python3", "-I", CALLING, role=role) as made:
            yield Agent(self, made, role)

    def ask(self, policies: Policy | list[Policy], *calls: Call) -> list[str]:
        """What comes of calls in a session of a role of these policies."""
        listed = policies if isinstance(policies, list) else [policies]
        with self.agent(*listed) as agent:
            return [agent.call(*each) for each in calls]

    def events(self, session: str) -> list[dict[str, Any]]:
        rows = self.home.control.rows("/api/events?limit=200")
        return [each for each in rows if each.get("session") == session]


class Agent:
    """A program that makes calls as it is told."""

    def __init__(
        self, agents: Agents, process: "subprocess.Popen[str]", role: str
    ) -> None:
        self._agents = agents
        self.process = process
        self.role = role

    def call(self, *call: object) -> str:
        """What comes of a call; empty when the agent is no more."""
        self.tell(*call)
        return self.answer()

    def tell(self, *call: object) -> None:
        """Have it make a call."""
        assert self.process.stdin is not None
        line = json.dumps([str(x) if isinstance(x, Path) else x for x in call])
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def answer(self) -> str:
        """What came of the call that it was told to make."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    @property
    def session(self) -> str:
        """The id of its session."""

        def found() -> str | None:
            rows = self._agents.home.control.rows("/api/sessions")
            return next(
                (each["id"] for each in rows if each["role"] == self.role), None
            )

        return wait_for(found)

    def event(self, of: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first event of its session that is such a one."""
        session = self.session

        def found() -> dict[str, Any] | None:
            return next(filter(of, self._agents.events(session)), None)

        return wait_for(found)


def descendants(process: int) -> list[int]:
    """The processes below one."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [pid for each in map(int, children) for pid in (each, *descendants(each))]


def placed(call: Call, directory: Path) -> Call:
    """A call with a directory's path in the place of `{}`."""
    return tuple(
        each.format(directory) if isinstance(each, str) else each for each in call
    )
