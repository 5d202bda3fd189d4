"""Rounds of using a hub, killing it in the middle, and looking at what it kept."""

import contextlib
import http.client
import os
import random
import signal
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hub_process import HubProcess
from hub_witness import (
    Endorser,
    KeyHolder,
    Member,
    Owner,
    PasswordChanger,
    Publisher,
    Talk,
    Witness,
    expect,
    member,
    prepared_hub,
    talk_to,
)
from spec.hub_client import Answer, client_of

from redlane_hub.services.inspection import inspect

__all__ = ["VICTIMS", "Attack", "children", "lives", "until"]

SECONDS = 30.0
TOO_MANY = 429
BROKEN = (http.client.HTTPException, ConnectionError)
VICTIMS = ("alone", "worker", "master", "all")
"""Who is killed: the one process, or some of those with two workers."""


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    path = Path(f"/proc/{pid}/task/{pid}/children")
    with contextlib.suppress(OSError):
        return [int(each) for each in path.read_text().split()]
    return []


def lives(pid: int) -> bool:
    """Whether a process runs; one that only its parent misses does not."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2][1] not in "ZX"
    return False


def until(condition: object, seconds: float = SECONDS) -> None:
    """Poll until something is true."""
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.005)


class PatientTalk(Talk):
    """Comes again when told to: a slow disk lets a write wait in vain for others."""

    def ask(self, method: str, path: str, body: object = None) -> Answer:
        """One request, as often as nothing is done but because the hub is busy."""
        while (answer := super().ask(method, path, body)).status == TOO_MANY:
            pass
        return answer


class Tally:
    """What was acknowledged, of all witnesses together."""

    def __init__(self) -> None:
        self.count = 0
        self._changed = threading.Condition()

    def add(self) -> None:
        """One more."""
        with self._changed:
            self.count += 1
            self._changed.notify_all()

    def wait_for(self, count: int) -> None:
        """Return when there are as many."""
        with self._changed:
            assert self._changed.wait_for(lambda: self.count >= count, SECONDS)


@dataclass
class Attack:
    """A hub, its witnesses, and a share of luck."""

    hub: HubProcess
    seed: int
    witnesses: list[Witness] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    kills: int = 0
    _runs: str = ""

    def __post_init__(self) -> None:
        """Make a database with accounts, a key and an artifact to argue about."""
        self.random = random.Random(self.seed)
        self.tokens = prepared_hub(self.hub)
        self.hub.start()
        publishers = [Publisher(self._member()) for _ in range(2)]
        for each in publishers:
            with talk_to(self.hub, each.member) as talk:
                public = each.public_key
                made = talk.ask("POST", "/api/v1/me/signing-keys", public)
                each.fingerprint = expect(made, 201)["fingerprint"]
        owner = self._member()
        with talk_to(self.hub, owner) as talk:
            body = {"name": "shared", "version": "1", "content": "{}"}
            body["tags"] = ["tag-shared"]  # type: ignore[assignment]  # a JSON body
            made = expect(talk.ask("POST", "/api/v1/artifacts", body), 201)
        self.witnesses += [
            *publishers,
            KeyHolder(self._member()),
            PasswordChanger(self._member()),
            Endorser(self._member(), made["id"]),
            Owner(owner, made["id"], "shared"),
        ]
        assert self.hub.stop() == 0

    def round(self, victim: str) -> None:
        """Use the hub, kill, start again where that is needed, and check."""
        self._run(victim)
        self.use_and_kill(victim)
        self._run(victim)
        self.check()

    def _run(self, victim: str) -> None:
        """Have a hub of so many workers, unless there is one from the last round."""
        workers = "1" if victim == "alone" else "2"
        if self._runs != workers:
            self.hub.stop(signal.SIGKILL)
            self.hub.start("--workers", workers)
            self._runs = workers

    def use_and_kill(self, victim: str) -> None:
        """Have all witnesses at work, and kill after a few acknowledgements."""
        ends = threading.Event()
        threads = [
            threading.Thread(target=self._work, args=(each, ends))
            for each in self.witnesses
        ]
        for each in threads:
            each.start()
        try:
            self.tally.wait_for(self.tally.count + self.random.randint(1, 40))
        finally:
            killed = self._kill(victim)
            ends.set()
            for each in threads:
                each.join(SECONDS)
        assert not any(each.is_alive() for each in threads)
        until(lambda: not any(map(lives, killed)))
        self.kills += 1

    def check(self) -> None:
        """Ask the witnesses, and have the whole database checked."""
        for each in self.witnesses:
            with talk_to(self.hub, each.member) as talk:
                each.check(talk)
        findings = inspect(self.hub.database, lambda *_: None)
        assert findings.problems == []

    def _kill(self, victim: str) -> Sequence[int]:
        """Kill, at once; the processes that must be gone then."""
        pids = [self.hub.pid, *children(self.hub.pid)]
        if victim == "worker":
            chosen = self.random.choice(pids[1:])
            os.kill(chosen, signal.SIGKILL)
            return [chosen]
        if victim == "all":
            for each in pids[1:]:
                os.kill(each, signal.SIGKILL)
        self.hub.stop(signal.SIGKILL)
        self._runs = ""
        return pids

    def _work(self, witness: Witness, ends: threading.Event) -> None:
        with PatientTalk(client_of(self.hub), witness.member.token) as talk:
            while not ends.is_set():
                try:
                    witness.act(talk)
                except BROKEN:
                    return
                self.tally.add()

    def _member(self) -> Member:
        return member(self.hub, self.tokens)
