"""`redlane session` and reloads (policy format: File locations, Role; contract)."""

import os
import subprocess
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from spec.cases import regex, simple
from spec.redlane_home import Home


@pytest.fixture
def running(home: Home) -> Home:
    home.policies(
        {"id": "pa", **simple("Block", "aaa")},
        {"id": "pb", **simple("Block", "bbb")},
    )
    home.role("a", "pa")
    home.role("b", "pb")
    home.start("--role", "a")
    return home


def _verdict(home: Home, content: str, **more: Any) -> str:
    return str(home.control.analyze(content, hold=False, **more)["verdict"])


def _sessions(home: Home) -> list[dict[str, Any]]:
    return home.control.rows("/api/sessions")


def test_there_is_a_default_session(running: Home) -> None:
    (session,) = _sessions(running)

    assert session["role"] == "a"
    assert session["id"]


def test_list_names_session_and_role(running: Home) -> None:
    (session,) = _sessions(running)

    ran = running.run("session", "list")

    assert ran.code == 0
    assert session["id"] in ran.out
    assert "a" in ran.out.split()


def test_list_as_json(running: Home) -> None:
    (session,) = _sessions(running)

    ran = running.run("session", "list", "--json")

    assert ran.code == 0
    rows = ran.json if isinstance(ran.json, list) else ran.json["sessions"]
    assert [(each["id"], each["role"]) for each in rows] == [(session["id"], "a")]


def test_set_role_changes_the_active_role(running: Home) -> None:
    assert running.run("session", "set-role", "b").code == 0

    assert _verdict(running, "aaa") == "ALLOW"
    assert _verdict(running, "bbb") == "BLOCK"
    assert _sessions(running)[0]["role"] == "b"


def test_set_role_to_an_unknown_role_changes_nothing(running: Home) -> None:
    ran = running.run("session", "set-role", "nobody")

    assert "nobody" in ran.refusal
    assert _verdict(running, "aaa") == "BLOCK"
    assert _verdict(running, "bbb") == "ALLOW"


@pytest.mark.parametrize("verb", ["set-role", "freeze", "unfreeze", "kill"])
def test_an_unknown_session_is_refused(running: Home, verb: str) -> None:
    arguments = ("b",) if verb == "set-role" else ()

    ran = running.run("session", verb, *arguments, "--session", "no-such-session")

    assert "no-such-session" in ran.refusal
    assert _verdict(running, "bbb") == "ALLOW"


def test_freeze_blocks_until_unfreeze(running: Home) -> None:
    assert running.run("session", "freeze").code == 0
    assert _verdict(running, "x") == "BLOCK"
    assert running.run("session", "unfreeze").code == 0
    assert _verdict(running, "x") == "ALLOW"


def test_freeze_survives_a_reload(running: Home) -> None:
    running.run("session", "freeze")
    running.run("session", "reload")

    assert _verdict(running, "x") == "BLOCK"


# Sessions over the API.


@pytest.fixture
def second(running: Home) -> Iterator[dict[str, Any]]:
    """A second session, with the role `b`."""
    with running.opened_session("b") as session:
        yield session


def test_a_session_is_created_with_a_role(
    running: Home, second: dict[str, Any]
) -> None:
    assert second["role"] == "b"
    assert len(_sessions(running)) == 2
    assert _verdict(running, "bbb", session=second["id"]) == "BLOCK"
    assert _verdict(running, "aaa", session=second["id"]) == "ALLOW"
    assert _verdict(running, "aaa") == "BLOCK"


def test_a_session_is_created_with_the_default_role(running: Home) -> None:
    with running.opened_session() as session:
        assert session["role"] == "a"


def test_whoever_creates_a_session_by_name_keeps_its_rights(running: Home) -> None:
    made = running.control.post("/api/sessions", {"role": "b"})

    assert made.status in (200, 201)
    path = f"/api/sessions/{made.json['id']}"
    assert running.control.get("/api/status").status == 200
    assert running.control.call("PATCH", path, {"role": "a"}).json["role"] == "a"
    for action in ("freeze", "unfreeze", "kill"):
        assert running.control.post(f"{path}/{action}", {}).status == 200


def test_a_session_with_an_unknown_role_is_not_created(running: Home) -> None:
    answer = running.control.post("/api/sessions", {"role": "nobody"})

    assert 400 <= answer.status < 500
    assert "nobody" in answer.error
    assert len(_sessions(running)) == 1


def test_a_session_is_shown(running: Home, second: dict[str, Any]) -> None:
    answer = running.control.get(f"/api/sessions/{second['id']}")

    assert answer.status == 200
    assert (answer.json["id"], answer.json["role"]) == (second["id"], "b")


def test_a_session_is_patched(running: Home, second: dict[str, Any]) -> None:
    path = f"/api/sessions/{second['id']}"

    answer = running.control.call("PATCH", path, {"role": "a"})

    assert answer.status == 200
    assert _verdict(running, "aaa", session=second["id"]) == "BLOCK"
    assert _verdict(running, "bbb", session=second["id"]) == "ALLOW"


@pytest.mark.parametrize(
    "body",
    [{"role": "nobody"}, {"role": 1}, {}, []],
    ids=["unknown", "number", "no", "array"],
)
def test_a_bad_patch_changes_nothing(
    running: Home, second: dict[str, Any], body: object
) -> None:
    path = f"/api/sessions/{second['id']}"

    answer = running.control.call("PATCH", path, body)

    assert 400 <= answer.status < 500
    assert answer.error
    assert _verdict(running, "bbb", session=second["id"]) == "BLOCK"
    assert _verdict(running, "x", session=second["id"]) == "ALLOW"


def test_a_deleted_session_is_no_longer_judged(
    running: Home, second: dict[str, Any]
) -> None:
    answer = running.control.call("DELETE", f"/api/sessions/{second['id']}")

    assert answer.status in (200, 204)
    ask = {"content": "x", "context": "Shell", "session": second["id"]}
    answer = running.control.post("/api/analyze", ask)
    assert answer.status == 404 or answer.json["verdict"] == "BLOCK"
    assert _verdict(running, "x") == "ALLOW"


def test_the_default_session_cannot_be_deleted(running: Home) -> None:
    (session,) = _sessions(running)

    answer = running.control.call("DELETE", f"/api/sessions/{session['id']}")

    assert 400 <= answer.status < 500
    assert _verdict(running, "x") == "ALLOW"


def test_freezing_one_session_leaves_the_others(
    running: Home, second: dict[str, Any]
) -> None:
    path = f"/api/sessions/{second['id']}"

    assert running.control.post(f"{path}/freeze", {}).status in (200, 204)
    assert _verdict(running, "x", session=second["id"]) == "BLOCK"
    assert _verdict(running, "x") == "ALLOW"
    assert running.control.post(f"{path}/unfreeze", {}).status in (200, 204)
    assert _verdict(running, "x", session=second["id"]) == "ALLOW"


def test_the_command_line_picks_a_session(
    running: Home, second: dict[str, Any]
) -> None:
    ran = running.run("session", "set-role", "a", "--session", second["id"])

    assert ran.code == 0
    assert _verdict(running, "aaa", session=second["id"]) == "BLOCK"


# Reload.


def test_disk_changes_wait_for_a_reload(running: Home) -> None:
    running.policies(
        {"id": "pa", **simple("Block", "new")}, {"id": "pb", **simple("Flag", "x")}
    )

    assert _verdict(running, "new") == "ALLOW"
    assert _verdict(running, "aaa") == "BLOCK"
    assert running.run("session", "reload").code == 0
    assert _verdict(running, "new") == "BLOCK"
    assert _verdict(running, "aaa") == "ALLOW"


def test_the_reload_route_tells_what_is_loaded(running: Home) -> None:
    running.policies({"id": "pc", **regex("Allow", ".*")}, file="more.json")

    answer = running.control.post("/api/policies/reload", {})

    assert answer.status == 200
    assert (answer.json["policies"], answer.json["roles"]) == (3, 2)
    assert "pc" in str(answer.json["warnings"])


def test_a_reload_that_fails_leaves_the_old_in_force(running: Home) -> None:
    running.policies(
        {"id": "pa", **simple("Block", "new")},
        {"id": "pb", **regex("Block", "(")},
        {"id": "pc", **simple("Block")},
    )

    answer = running.control.post("/api/policies/reload", {})

    assert answer.status == 422
    assert answer.error
    assert {each["subject"] for each in answer.json["errors"]} == {"pb", "pc"}
    assert _verdict(running, "aaa") == "BLOCK"
    assert _verdict(running, "new") == "ALLOW"


def test_a_failing_reload_from_the_command_line_lists_every_error(
    running: Home,
) -> None:
    running.policies(
        {"id": "pa", **regex("Block", "(")}, {"id": "pb", **simple("Block")}
    )

    ran = running.run("session", "reload")

    assert ran.code not in (0, 3)
    assert "pa" in ran.err
    assert "pb" in ran.err
    assert "Traceback" not in ran.err
    assert _verdict(running, "aaa") == "BLOCK"


def test_a_verdict_is_never_computed_from_half_a_reload(running: Home) -> None:
    stop = threading.Event()
    seen: set[str] = set()

    def ask() -> None:
        while not stop.is_set():
            seen.add(_verdict(running, "aaa"))

    asking = [threading.Thread(target=ask) for _ in range(3)]
    for thread in asking:
        thread.start()
    for number in range(20):
        name = f"other-{number}"
        policies = [{"id": name, **simple("Block", "aaa")}]
        running.write("policies/policies.json", policies)
        running.role("a", name)
        running.role("b")
        assert running.control.post("/api/policies/reload", {}).status == 200
    stop.set()
    for thread in asking:
        thread.join(20)

    assert seen == {"BLOCK"}


def test_a_reload_without_any_policies_drops_them(running: Home) -> None:
    for name in ("policies/policies.json", "roles/a.json", "roles/b.json"):
        (running.dir / name).unlink()

    assert running.run("session", "reload").code == 0
    assert _verdict(running, "x") == "BLOCK"


def test_a_session_whose_role_was_removed_blocks_everything(running: Home) -> None:
    (running.dir / "roles" / "a.json").unlink()

    answer = running.control.post("/api/policies/reload", {})

    assert answer.status == 200
    (session,) = _sessions(running)
    assert session["id"] in answer.text
    assert _verdict(running, "x") == "BLOCK"
    status = running.run("status")
    assert status.code == 0
    assert session["id"] in status.out
    assert session["id"] in running.run("status", "--json").out
    assert "block" in status.out.lower()


def test_a_role_that_comes_back_is_in_force_again(running: Home) -> None:
    role = running.dir / "roles" / "a.json"
    text = role.read_text()
    role.unlink()
    running.run("session", "reload")
    role.write_text(text)
    running.run("session", "reload")

    assert _verdict(running, "aaa") == "BLOCK"
    assert _verdict(running, "x") == "ALLOW"


def test_a_reload_applies_the_settings(running: Home) -> None:
    running.policies(
        {"id": "pa", **simple("Flag", "aaa")},
        {"id": "pb", **simple("Block", "bbb")},
    )
    running.settings(review={"timeout_seconds": 1, "timeout_action": "allow"})
    running.run("session", "reload")

    assert running.shell("-c", "echo aaa").out == "aaa\n"


def test_where_a_process_stands(running: Home) -> None:
    def place(pid: int) -> Any:
        return running.control.get(f"/api/processes/{pid}").json

    own, inside = os.getpid(), ("run", "--", "sh", "-c", "echo $$; read x")
    with running.spawn(*inside, stdin=subprocess.PIPE) as shell:
        assert shell.stdout is not None
        pid = int(shell.stdout.readline())
        session = _sessions(running)[-1]["id"]
        assert place(pid) == {"pid": pid, "place": "member", "session": session}
        shell.communicate("\n", timeout=20)
    assert place(own) == {"pid": own, "place": "outside", "session": None}


@pytest.mark.parametrize("pid", ["0", "-1", "4194305", "9" * 30, "x"])
def test_what_is_no_process_is_404(running: Home, pid: str) -> None:
    assert running.control.get(f"/api/processes/{pid}").status == 404
