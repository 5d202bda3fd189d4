"""Whoever dies mid-request, the request fails: it never passes unjudged."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from proxied import Proxied, Site, proxied
from spec.cases import executable, simple
from spec.redlane_home import wait_for

NETWORK = {"context": "Network"}
POLICIES = {
    "ask": simple("Flag", "odd-thing", **NETWORK),
    "slow": executable("Block", "/usr/bin/tail -f /dev/null", **NETWORK),
    "word": simple("Block", "bad-word", **NETWORK),
}
ROLES = {"asking": ["ask", "word"], "slow": ["slow"], "strict": ["word"]}


@pytest.fixture
def lab(tmp_path_factory: pytest.TempPathFactory, place: Site) -> Iterator[Proxied]:
    """One for each test: the daemon or the proxy is killed in it."""
    base = tmp_path_factory.mktemp("lab")
    with proxied(base, place, POLICIES, ROLES, tls={"intercept": True}) as made:
        yield made


def _kill_proxy(lab: Proxied) -> None:
    processes = lab.processes()
    assert processes
    for each in processes:
        os.kill(each, signal.SIGKILL)


def _kill_daemon(lab: Proxied) -> None:
    pid = lab.home.control.get("/api/status").json["pid"]
    os.kill(pid, signal.SIGKILL)


KILLS = {"proxy": _kill_proxy, "daemon": _kill_daemon}


@pytest.mark.parametrize("who", KILLS)
def test_a_held_request_never_passes(lab: Proxied, who: str) -> None:
    agent = lab.agent("asking")
    agent.send("request", url=f"{lab.http}/text?odd-thing-held-{who}")
    lab.held()

    KILLS[who](lab)

    outcome = agent.outcome()
    assert outcome.failed or outcome.status >= 400, outcome
    assert lab.origin.reached(f"odd-thing-held-{who}") == []


@pytest.mark.parametrize("who", KILLS)
def test_a_request_under_judgement_never_passes(lab: Proxied, who: str) -> None:
    agent = lab.agent("slow")
    url = f"{lab.http}/text?judged-{who}"
    agent.send("request", url=url)
    checker = wait_for(lambda: _running("/usr/bin/tail", lab))
    try:
        KILLS[who](lab)

        outcome = agent.outcome()
        assert outcome.failed or outcome.status >= 400, outcome
        assert lab.origin.reached(f"judged-{who}") == []
    finally:
        # Nobody is left to end it when the daemon has been killed.
        with suppress(ProcessLookupError):
            os.kill(checker, signal.SIGKILL)


def _running(program: str, lab: Proxied) -> int | None:
    """The checker that this daemon runs."""
    daemon = str(lab.home.control.get("/api/status").json["pid"])
    for each in Path("/proc").glob("[0-9]*"):
        try:
            words = (each / "cmdline").read_bytes().split(b"\0")
            parent = (each / "stat").read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue
        if words[0] == program.encode() and parent == daemon:
            return int(each.name)
    return None


@pytest.mark.parametrize("who", KILLS)
def test_an_answer_that_is_on_its_way_is_cut(lab: Proxied, who: str) -> None:
    gate = threading.Event()
    try:
        path = lab.origin.serve(f"/cut-{who}", [b"x" * 100, gate, b"y" * 100])
        agent = lab.agent("strict")
        agent.send("request", url=lab.http + path)
        wait_for(lambda: lab.origin.reached(path))

        KILLS[who](lab)

        outcome = agent.outcome()
        assert outcome.failed or outcome.status >= 400, outcome
    finally:
        gate.set()


def test_the_proxy_comes_back(lab: Proxied) -> None:
    agent = lab.agent("strict")
    assert agent.request(f"{lab.http}/text").status == 200

    _kill_proxy(lab)

    wait_for(lambda: agent.request(f"{lab.http}/text").status == 200)
    assert agent.post(f"{lab.http}/echo", b"bad-word").blocked_by == "word"


def test_while_the_daemon_is_down_nothing_passes(lab: Proxied) -> None:
    agent = lab.agent("strict")
    assert agent.request(f"{lab.http}/text").status == 200
    processes = lab.processes()

    _kill_daemon(lab)

    outcome = agent.request(f"{lab.http}/text?daemon-down")
    assert outcome.failed or outcome.status >= 400, outcome
    assert lab.origin.reached("daemon-down") == []
    wait_for(lambda: not [each for each in processes if Path(f"/proc/{each}").exists()])


def test_stopping_the_daemon_stops_the_proxy(lab: Proxied) -> None:
    assert lab.agent("strict").request(f"{lab.http}/text").status == 200
    processes = lab.processes()

    assert lab.home.run("stop").code == 0

    assert processes
    wait_for(lambda: not [each for each in processes if Path(f"/proc/{each}").exists()])


def test_a_stopped_proxy_passes_nothing(lab: Proxied) -> None:
    """Frozen, it neither serves nor hands its socket to anybody."""
    agent = lab.agent("strict")
    assert agent.request(f"{lab.http}/text").status == 200
    processes = lab.processes()
    for each in processes:
        os.kill(each, signal.SIGSTOP)

    agent.send("request", url=f"{lab.http}/text?proxy-stopped")
    for each in processes:
        os.kill(each, signal.SIGKILL)

    outcome = agent.outcome()
    reached = lab.origin.reached("proxy-stopped")
    assert outcome.failed or outcome.status >= 400 or len(reached) == 1, outcome
    assert len(reached) == len(lab.events("proxy-stopped"))
