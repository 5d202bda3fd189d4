"""`redlane doctor` finds held what is held, and says of the rest what would hold it."""

import json
import os
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from calls_home import needs_filters
from spec.redlane_home import REDLANE, Home, Ran
from supervised import PEOPLE, Guarded, guarded, person_named
from system.whole_machine import ALICE, Machine

from redlane.state.boundary import landlock_version, not_held

SHELLS = {"shell on PATH", "shell by its path", "copy of a shell", "os.system"}
JUDGED = {
    *SHELLS,
    "program by its command line",
    "MCP call by `redlane mcp`",
    "HTTP by the proxy",
}
KERNELS = {"typing into a terminal", "setuid program"}
LANDLOCKS = {
    "signal to a process outside",
    "killing the daemon",
    "abstract socket outside",
}
OF_ROOT = "memory of a process outside"
"""Newer kernels let root look at it."""
OWN, ELSEWHERE = "policies of the daemon", "file outside of `writable`"
HIDDEN = "what `hidden` names"
DIRECT, HTTPS = "connection past the proxy", "HTTPS by the proxy"
SERVICE = "service outside"
CALLS = "system calls of the role"
SCOPES = "open" if not_held(landlock_version()) else "held"


@pytest.fixture(scope="module", params=PEOPLE)
def there(request: pytest.FixtureRequest) -> Iterator[Guarded]:
    with guarded(person_named(request.param)) as made:
        made.home.env["TMPDIR"] = str(made.base)
        made.home.role("plain")
        made.home.role("bound", "watch", writable=["@work"], hidden=["~/own"])
        made.home.role("shut", hidden=["@services"])
        made.home.role("watched", "watch", hidden=["@services"])
        (made.home.user / "own").mkdir()
        made.home.settings(tls={"intercept": True})
        made.home.env["DOCKER_HOST"] = f"unix://{made.base}/docker.sock"
        made.start()
        with socket.socket(socket.AF_UNIX) as service:
            service.bind(f"{made.base}/docker.sock")
            (made.base / "docker.sock").chmod(0o777)
            service.listen(64)
            yield made


def examined(there: Guarded, *words: str) -> Ran:
    return there.alone(REDLANE, "doctor", *words, env=there.home.env)


def results(ran: Ran) -> dict[str, str]:
    """By name; the sums must be those of the rows."""
    assert ran.err == "", ran
    document: Mapping[str, Any] = json.loads(ran.out)
    rows = {each["name"]: each["result"] for each in document["boundaries"]}
    for key, result in (("held", "held"), ("open", "open"), ("not_tried", "not tried")):
        assert document[key] == list(rows.values()).count(result)
    for each in document["boundaries"]:
        assert each.keys() == {"name", "result", "detail", "mend"}
        assert each["detail"]
        assert each["mend"] or each["result"] != "open"
    return rows


def those(rows: Mapping[str, str], names: set[str]) -> set[str]:
    return {rows[each] for each in names}


def left(there: Guarded) -> list[Path]:
    """What has been made and not taken away: its name is in each."""
    return [*there.base.rglob("redlane-doctor*")]


def _code(rows: Mapping[str, str]) -> int:
    """The status for what is open: what the kernel lacks is a fault."""
    faults = {each for each in rows if rows[each] == "open"} - {DIRECT}
    assert faults <= LANDLOCKS | {OF_ROOT}
    return 1 if faults else 0


def test_plain_role_has_what_every_session_has(there: Guarded) -> None:
    ran = examined(there, "--role", "plain", "--json")
    rows = results(ran)
    assert those(rows, JUDGED | KERNELS | {HTTPS}) == {"held"}, ran
    assert those(rows, LANDLOCKS) == {SCOPES}, ran
    assert (rows[OWN], rows[DIRECT]) == ("held", "open"), ran
    assert those(rows, {ELSEWHERE, HIDDEN, SERVICE, CALLS}) == {"not tried"}, ran
    assert ran.code == _code(rows)
    assert not left(there)
    sessions = there.home.control.get("/api/sessions").json["sessions"]
    assert {each["state"] for each in sessions if each["label"]} == {"ended"}


@needs_filters
def test_role_with_places_holds_files_too(there: Guarded) -> None:
    ran = examined(there, "--role", "bound", "--json")
    rows = results(ran)
    assert those(rows, {*JUDGED, *KERNELS, OWN, ELSEWHERE, HIDDEN, CALLS}) == {
        "held"
    }, ran
    assert rows[DIRECT] == "open", "the role does not ask for it, which is no fault"
    assert ran.code == _code(rows)
    assert not left(there)


@pytest.mark.parametrize(("role", "result"), [("shut", "held"), ("watched", "open")])
def test_services_that_a_role_hides_are_out_of_reach(
    there: Guarded, role: str, result: str
) -> None:
    """But where its system calls are judged, which is no fault."""
    ran = examined(there, "--role", role, "--json")
    rows = results(ran)
    assert rows[SERVICE] == result, ran
    assert ran.code == _code({**rows, SERVICE: "held"})


def test_table_is_for_people(there: Guarded) -> None:
    ran = examined(there, "--role", "plain")
    assert ran.code in (0, 1)
    assert ran.err == ""
    assert "\x1b" not in ran.out
    rows = [each for each in ran.out.splitlines() if not each.startswith(" ")]
    for name in JUDGED:
        (row,) = [each for each in rows if each.startswith(name)]
        assert "  held  " in row
    assert 'mend: a role with `"egress": "proxy"`' in ran.out
    assert "(role plain, Linux " in rows[-1]


def test_unknown_role_is_one_line(there: Guarded) -> None:
    ran = examined(there, "--role", "nonsense", "--json")
    assert (ran.code, ran.out) == (1, "")
    assert "nonsense" in ran.refusal


def test_inside_a_session_it_is_refused(there: Guarded) -> None:
    ran = there.supervised(REDLANE, "doctor", "--json", role="plain")
    assert (ran.code, ran.out) == (2, "")
    assert "inside a session" in ran.refusal


def test_without_a_daemon_it_says_so(tmp_path: Path) -> None:
    ran = Home(tmp_path).run("doctor", "--json")
    assert (ran.code, ran.out) == (3, "")
    assert "redlane start" in ran.refusal


@pytest.mark.skipif(os.getuid() != 0, reason="NOT TESTED: only root has a machine")
def test_files_of_the_machines_daemon_are_held(whole: Machine) -> None:
    ran = whole.run(ALICE, "doctor", "--json")
    rows = results(ran)
    assert those(rows, {*SHELLS, *KERNELS, OWN, "killing the daemon"}) == {"held"}, ran
    faults = {each for each in rows if rows[each] == "open"} - {DIRECT}
    assert ran.code == (1 if faults else 0)
