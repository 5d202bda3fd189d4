"""`"egress": "proxy"`: a session leaves this machine by its proxy alone."""

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from errno import errorcode
from pathlib import Path
from typing import Any

import pytest
from calls_home import needs_filters
from supervised import PEOPLE, Guarded, guarded, person_named
from system import own_filter, socket_ways
from system.hidden_ground import PYTHON
from system.socket_ways import OUTSIDE, own_address

pytestmark = needs_filters

PROGRAM = Path(socket_ways.__file__)
NOT_THERE = {
    "id": "not-there",
    "type": "Regex",
    "context": "Network",
    "action": "Block",
    "pattern": r"CONNECT (203\.0\.113\.1|\[2001:db8::1\]|255\.255\.255\.255):",
    "reason": "these are nobody's",
}
NO_FILE = {"id": "no-file", "type": "Simple", "context": "Syscall", "action": "Block"}
BLOCKED = (
    "(not-there): blocked by Redlane: policy 'not-there' blocks this: these are "
    "nobody's: do without it, or ask the user"
)
ELSEWHERE = ("203.0.113.1", "[2001:db8::1]")


@pytest.fixture(scope="module", params=PEOPLE)
def there(request: pytest.FixtureRequest) -> Iterator[Guarded]:
    with guarded(person_named(request.param)) as made:
        word = {"type": "Simple", "context": "Shell", "action": "Block"}
        policy = {**word, "id": "no-word", "pattern": "forbidden-word"}
        made.home.policies(policy, NOT_THERE, file="words.json")
        made.home.role("led", "not-there", egress="proxy", namespaces="allow")
        made.home.role("also", "not-there", egress="proxy", hidden=["@keys"])
        made.home.role("free", "no-word", writable=["@work", "@temporary"])
        made.start()
        yield made


def tried(there: Guarded, kind: str, role: str = "", *front: str) -> dict[str, Any]:
    words = (*front, PYTHON, "-I", PROGRAM, kind, own_address())
    ran = there.supervised(*words, role=role) if role else there.alone(*words)
    assert ran.code == 0, ran
    found: dict[str, Any] = json.loads(ran.out)
    return found


@pytest.fixture
def datagrams(there: Guarded) -> None:
    """A network of its own for them, which not every machine lets a session have."""
    front = ("unshare", "-n") if there.person.uid is None else ("unshare", "-rn")
    if there.alone(*front, "true").code:
        pytest.skip("NOT TESTED: no network of its own is to be had here")


@contextmanager
def session_of(there: Guarded, role: str) -> Iterator[str]:
    """The name of a session of a role, which runs as long as the block lasts."""
    with there.running("sh", "-c", "echo; sleep 60", role=role) as process:
        assert process.stdout
        process.stdout.readline()
        sessions = there.home.control.get("/api/sessions").json["sessions"]
        (found,) = (
            each
            for each in sessions
            if each["state"] == "running" and each["role"] == role
        )
        yield found["id"]


@pytest.mark.usefixtures("datagrams")
@pytest.mark.parametrize("role", ["led", "also"])
def test_this_machine_is_reached_as_without_redlane(there: Guarded, role: str) -> None:
    assert tried(there, "inside", role) == tried(there, "inside")


@pytest.mark.usefixtures("datagrams")
@pytest.mark.parametrize("role", ["led", "also"])
def test_other_machines_are_not_reached(there: Guarded, role: str) -> None:
    expected = {name: errorcode[number] for name, (number, _) in OUTSIDE.items()}
    assert tried(there, "outside", role) == expected


def test_other_roles_are_held_to_nothing(there: Guarded) -> None:
    found = tried(there, "outside", "free")
    assert found["connect"] != "EACCES"
    assert tried(there, "inside", "free") == tried(there, "inside")


def test_connection_leads_where_it_was_looked_at(there: Guarded) -> None:
    found = set(tried(there, "race", "led")["race"])
    assert found <= {"127.0.0.1", "EACCES"}
    assert found


@pytest.mark.usefixtures("datagrams")
def test_datagrams_are_in_a_network_of_the_sessions_own(there: Guarded) -> None:
    assert tried(there, "apart") == {"apart": False}
    assert tried(there, "apart", "led") == {"apart": True}


@pytest.mark.usefixtures("datagrams")
def test_refusal_is_told_and_is_an_event(there: Guarded) -> None:
    ran = there.supervised(PYTHON, "-I", PROGRAM, "outside", role="led")
    told = [line for line in ran.err.splitlines() if line.startswith("redlane: ")]
    assert told == [f"redlane: refused connect 203.0.113.1:9 {BLOCKED}"]
    events = there.home.control.rows("/api/events")
    found = [each for each in events if each["policy"] == "builtin:egress"]
    calls = [json.loads(each["content"]) for each in found]
    assert {each["syscall"] for each in calls} == {"connect", "bind"}
    paths = {each["paths"][0] for each in calls}
    assert "[fe80::1]:9" in paths
    lines = {each["content"] for each in events if each["policy"] == "not-there"}
    assert {f"CONNECT {each}:9 HTTP/1.1\n\n" for each in ELSEWHERE} <= lines


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: root makes devices")
def test_device_by_which_packets_leave_is_not_opened(there: Guarded) -> None:
    device = there.work / "tun"
    os.mknod(device, 0o600 | stat.S_IFCHR, os.makedev(10, 200))
    device.chmod(0o666)
    alone = there.alone("sh", "-c", ": >> tun")
    ran = there.supervised("sh", "-c", ": >> tun", role="led")
    device.unlink()
    if "Permission denied" in alone.err:
        pytest.skip("NOT TESTED: no devices are to be opened here")
    assert f"redlane: refused openat {device} (builtin:egress): " in ran.err


@pytest.mark.usefixtures("datagrams")
def test_network_of_its_own_is_as_without_redlane(there: Guarded) -> None:
    front = ("unshare", "-n") if there.person.uid is None else ("unshare", "-rn")
    alone = tried(there, "inside", "", *front)
    inside = tried(there, "inside", "led", *front)
    if there.person.uid is None:  # root may have entered any
        inside["datagrams"] = alone["datagrams"]
    assert inside["loopback"] == alone["loopback"]
    assert inside["datagrams"] == alone["datagrams"]


def test_without_a_network_of_its_own_it_has_no_datagrams(there: Guarded) -> None:
    refusing = (PYTHON, "-I", own_filter.__file__, "unshare=1", "exec")
    words = there.command(PYTHON, "-I", PROGRAM, "inside", role="led")
    ran = there.alone(*refusing, *words[len(there.person.words) :], env=there.home.env)
    assert "has no sockets for datagrams (UDP)" in ran.err
    found = json.loads(ran.out)
    assert (found["datagrams"], found["loopback"]) == ("EACCES", "127.0.0.1")


def test_session_that_runs_already_is_not_given_such_a_role(there: Guarded) -> None:
    with session_of(there, "free") as found:
        ran = there.home.run("session", "set-role", "led", "--session", found)
    assert "nothing keeps the session from leaving this machine past" in ran.refusal


def test_role_needs_its_boundary(there: Guarded) -> None:
    run = ("run", "--role", "led", "--boundary", "none", "--", "true")
    assert "has its sessions leave by the proxy alone" in there.home.run(*run).refusal


def test_session_shows_it(there: Guarded) -> None:
    with session_of(there, "led") as found:
        shown = there.home.run("session", "show", "--session", found)
    assert "by the proxy alone" in shown.out, shown


def test_role_with_policies_about_system_calls_is_no_such_role(there: Guarded) -> None:
    there.home.policies({**NO_FILE, "syscall": ["unlink"]}, file="calls.json")
    there.home.role("both", "no-file", egress="proxy")
    try:
        ran = there.home.run("config", "check")
    finally:
        (there.home.user / ".redlane/policies/calls.json").unlink()
        (there.home.user / ".redlane/roles/both.json").unlink()
    assert ran.code == 1
    assert "`egress` is held by redlane-run" in ran.out + ran.err
