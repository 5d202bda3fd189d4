"""Contexts that plugins serve are started and stopped, and harm nobody."""

import socket
from pathlib import Path
from typing import Any

import pytest

from redlane.daemon.served_contexts import PeersJudge, ServedContexts
from redlane.errors import ForbiddenError
from redlane.model.policy import Context
from redlane.model.serving import ContentJudge
from redlane.model.verdict import Decision


class Served:
    """A context that does as it is told."""

    def __init__(self, name: str, log: list[str], fails: str = "") -> None:
        self.name = name
        self._log = log
        self._fails = fails

    def start(self, judge: ContentJudge, directory: Path) -> None:  # noqa: ARG002  # as told
        self._do("start")

    def stop(self) -> None:
        self._do("stop")

    def _do(self, what: str) -> None:
        if self._fails == what:
            raise SystemExit("no\nlicence")
        self._log.append(f"{what} {self.name}")


class Nobody:
    """Knows no caller."""

    def caller(self, peer: object) -> Any:
        raise ForbiddenError(f"this daemon serves others: {type(peer).__name__}")


JUDGE: Any = None


def test_contexts_start_in_order_and_stop_the_other_way(tmp_path: Path) -> None:
    log: list[str] = []
    served = ServedContexts({n: Served(n, log) for n in "ba"}, JUDGE, tmp_path)
    assert served.status() == {"a": "not started", "b": "not started"}
    served.start()
    assert served.status() == {"a": "serving", "b": "serving"}
    served.stop()
    served.stop()
    assert log == ["start a", "start b", "stop b", "stop a"]
    assert served.status() == {"a": "stopped", "b": "stopped"}


@pytest.mark.parametrize(
    ("fails", "log", "state"),
    [
        ("start", ["start b", "stop b"], "failed to start: SystemExit: no licence"),
        ("stop", ["start a", "start b", "stop b"], "serving"),
    ],
)
def test_context_that_fails_takes_nothing_down(
    tmp_path: Path, fails: str, log: list[str], state: str
) -> None:
    done: list[str] = []
    contexts = {"a": Served("a", done, fails), "b": Served("b", done)}
    served = ServedContexts(contexts, JUDGE, tmp_path)
    served.start()
    assert served.status() == {"a": state, "b": "serving"}
    served.stop()
    assert done == log


def test_whoever_cannot_be_told_is_blocked() -> None:
    nobody: Any = Nobody()
    judge = PeersJudge(JUDGE, JUDGE, JUDGE, nobody)
    here, there = socket.socketpair()
    with here, there:
        verdict = judge.judge(here, Context.SHELL, b"ls")
        assert verdict.decision is Decision.BLOCK
        assert "serves others: Peer" in verdict.reason
    assert judge.judge(here, Context.SHELL, b"ls").decision is Decision.BLOCK
