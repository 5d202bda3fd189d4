"""`"egress": "proxy"`: what takes no notice of the proxy is led there."""

import json
import os
import select
from collections.abc import Iterator
from pathlib import Path

import pytest
from calls_home import needs_filters
from supervised import PEOPLE, Guarded, guarded, person_named
from system import led_ways
from system.calls import wait_until_held
from system.elsewhere import FIRST, HOST, HTTP, NOBODY, other_machine
from system.hidden_ground import PYTHON

pytestmark = needs_filters

PROGRAM = Path(led_ways.__file__)
POLICIES = (
    {
        "id": "not-them",
        "action": "Block",
        "pattern": "(CONNECT |http://)[a-z]*[.]blocked[.]test[:/]",
    },
    {
        "id": "ask-me",
        "action": "Flag",
        "pattern": "CONNECT 198[.]51[.]100[.][0-9]+:22 ",
    },
    {"id": "not-there", "action": "Block", "pattern": "CONNECT 198[.]51[.]100[.]"},
)
STANDS = "198.18.0.1"


@pytest.fixture(scope="module", params=PEOPLE)
def there(request: pytest.FixtureRequest) -> Iterator[Guarded]:
    with guarded(person_named(request.param)) as made:
        common = {"type": "Regex", "context": "Network", "reason": "a test"}
        policies = [{**common, **each} for each in POLICIES]
        made.home.policies(*policies, file="network.json")
        made.home.role("led", "not-them", egress="proxy")
        made.home.role("asked", "ask-me", egress="proxy")
        made.home.role("kept", "not-there", egress="proxy")
        made.home.role("unsaid", "not-them")
        made.home.role("free", "not-them", egress="any")
        made.start()
        yield made


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[None]:
    """Another machine, which takes root's rights to make."""
    if os.geteuid() != 0:
        pytest.skip("NOT TESTED: root makes networks")
    with other_machine():
        yield


def ran(there: Guarded, role: str, *words: object) -> tuple[object, str]:
    """What came of a way, and what the program was told."""
    done = there.supervised(PYTHON, "-I", PROGRAM, *map(str, words), role=role)
    assert done.code == 0, done
    return json.loads(done.out), done.err


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize(
    ("way", "port", "found"),
    [
        ("page", HTTP, "there\n"),
        ("mapped", HTTP, "there\n"),
        ("many", HTTP, ["there\n"]),
        ("greeting", FIRST, "hello\r\nsaid: me"),
        ("page", NOBODY, "ECONNREFUSED"),
        ("does not wait", NOBODY, "ECONNREFUSED"),
    ],
)
def test_program_that_knows_no_proxy_is_led_to_it(
    there: Guarded, way: str, port: int, found: object
) -> None:
    done = there.alone(PYTHON, "-I", PROGRAM, way, HOST, str(port))
    if way != "does not wait":
        assert json.loads(done.out) == found
    assert ran(there, "led", way, HOST, port)[0] == found
    lines = [each["content"] for each in there.home.control.rows("/api/events")]
    assert f"CONNECT {HOST}:{port} HTTP/1.1\n\n" in lines


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize(("role", "is_led"), [("unsaid", True), ("free", False)])
def test_role_whose_policies_are_asked_about_requests_need_not_say_so(
    there: Guarded, role: str, *, is_led: bool
) -> None:
    before = {each["id"] for each in there.home.control.rows("/api/events")}
    assert ran(there, role, "page", HOST, HTTP)[0] == "there\n"
    events = there.home.control.rows("/api/events")
    lines = [each["content"] for each in events if each["id"] not in before]
    assert (f"CONNECT {HOST}:{HTTP} HTTP/1.1\n\n" in lines) is is_led


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("way", ["called", "called in TLS"])
def test_address_is_judged_by_the_name_that_it_is_called_as_well(
    there: Guarded, way: str
) -> None:
    allowed, _ = ran(there, "led", way, HOST, HTTP, "a.open.test")
    blocked, _ = ran(there, "led", way, HOST, HTTP, "a.blocked.test")

    assert allowed == "there\n"
    assert blocked in ("", "ECONNRESET") or "policy 'not-them'" in str(blocked)
    text = f"{'http://' if way == 'called' else 'CONNECT '}a.blocked.test"
    events = there.home.control.rows("/api/events")
    found = [each for each in events if text in each["content"]]
    assert {each["policy"] for each in found} == {"not-them"}, found


@pytest.mark.usefixtures("elsewhere")
def test_socket_is_led_once_whoever_connects_it(there: Guarded) -> None:
    found, _ = ran(there, "led", "twice", HOST, FIRST)
    assert found == ["EISCONN", "said: me"]


@pytest.mark.usefixtures("elsewhere")
def test_socket_that_was_refused_can_be_connected_again(there: Guarded) -> None:
    found, _ = ran(there, "led", "again", HOST, HTTP, NOBODY)
    assert found == ["ECONNREFUSED", "there\n"]


@pytest.mark.parametrize("way", ["page", "does not wait"])
def test_where_policies_do_not_let_it_is_refused_and_told(
    there: Guarded, way: str
) -> None:
    found, told = ran(there, "kept", way, HOST, HTTP)
    assert found == "EACCES"
    assert told == (
        f"redlane: refused connect {HOST}:{HTTP} (not-there): blocked by Redlane: "
        "policy 'not-there' blocks this: a test: do without it, or ask the user\n"
    )


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize(
    ("decision", "found"), [("allow", "hello\r\nsaid: me"), ("block", "")]
)
def test_one_that_waits_for_nothing_hears_of_a_decision_by_its_socket(
    there: Guarded, decision: str, found: str
) -> None:
    words = (PYTHON, "-I", PROGRAM, "greeting by parts", HOST, str(FIRST))
    with there.running(*words, role="asked") as process:
        assert process.stdout
        assert json.loads(process.stdout.readline()) == "EINPROGRESS"
        review = wait_until_held(there.home)
        assert not select.select([process.stdout], [], [], 0.3)[0]  # it still waits
        there.home.run("review", decision, str(review["id"]))
        assert json.loads(process.stdout.readline()) == "ready"
        assert json.loads(process.stdout.readline()) == found


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("restarts", ["yes", "no"])
def test_signals_that_are_handled_leave_a_connection_as_it_is(
    there: Guarded, restarts: str
) -> None:
    words = (PYTHON, "-I", PROGRAM, "among signals", HOST, str(FIRST), restarts)
    with there.running(*words, role="asked") as process:
        review = wait_until_held(there.home)
        there.home.run("review", "allow", str(review["id"]))
        found, _ = process.communicate()
    assert json.loads(found) == "said: me"


def test_name_is_looked_up_by_what_stands_for_it(there: Guarded) -> None:
    assert ran(there, "led", "look up", "www.blocked.test")[0] == [STANDS]


def test_connection_to_a_name_is_judged_by_it(there: Guarded) -> None:
    found, told = ran(there, "led", "page", "www.blocked.test", 443)
    assert found == "EACCES"
    assert "redlane: refused connect www.blocked.test:443 (not-them): " in told
    events = there.home.control.rows("/api/events")
    lines = [each["content"] for each in events if "www" in each["content"]]
    assert lines == ["CONNECT www.blocked.test:443 HTTP/1.1\n\n"]


def test_name_server_is_told_what_policies_let_pass_and_that_is_an_event(
    there: Guarded,
) -> None:
    for each in ("own.blocked.test", "localhost"):
        ran(there, "led", "questions", each)
    events = there.home.control.rows("/api/events")
    lines = [each["content"] for each in events if ":53 " in each["content"]]
    assert set(lines) == {"CONNECT localhost:53 HTTP/1.1\n\n"}


def test_name_of_this_machine_is_found_as_without_redlane(there: Guarded) -> None:
    found, _ = ran(there, "led", "questions", "localhost")
    assert found == ["192.0.2.53", 0, "127.0.0.1"]


def test_what_is_no_question_keeps_nobody_from_an_answer(there: Guarded) -> None:
    found, _ = ran(there, "led", "questions", "WWW.Blocked.test")
    assert found == ["192.0.2.53", 0, STANDS]
