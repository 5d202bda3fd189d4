"""The daemon's life: start, stop, kill, signals, reload."""

import json
import os
import re
import signal
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from spec.control_client import peer_pid
from spec.redlane_home import Home, wait_for
from system.calls import in_background
from system.process_tree import actor

from redlane.state.boundary import landlock_version, not_held


def lock_of(home: Home) -> dict[str, Any]:
    note: dict[str, Any] = json.loads((home.dir / "run/daemon.lock").read_text())
    return note


def wait_until_held(home: Home, count: int = 1) -> list[dict[str, Any]]:
    def held() -> list[dict[str, Any]] | None:
        reviews = home.control.rows("/api/reviews")
        return reviews if len(reviews) >= count else None

    return wait_for(held)


def kill_daemon(home: Home) -> None:
    pid = lock_of(home)["pid"]
    descriptor = os.pidfd_open(pid)
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: peer_pid(home.control.socket) is None)
    os.close(descriptor)


def files_of(pid: int) -> set[str]:
    found = set()
    for each in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            found.add(str(each.readlink()))
    return found


def test_start_answers_at_once_and_stop_leaves_nothing_in_the_way(home: Home) -> None:
    home.start("--role", "guard")
    assert home.control.get("/health").status == 200
    mode = home.control.socket.stat().st_mode
    assert mode & 0o777 == 0o600
    assert home.control.socket.parent.stat().st_mode & 0o777 == 0o700
    assert home.run("stop").code == 0
    assert not home.control.socket.exists()
    assert home.run("stop").code == 0
    assert home.run("status").code == 3


def test_daemon_holds_nothing_of_whoever_started_it(daemon: Home) -> None:
    pid = lock_of(daemon)["pid"]
    assert files_of(pid) & files_of(os.getpid()) <= {"/dev/null"}
    assert str(Path(f"/proc/{pid}/cwd").readlink()) == "/"
    assert os.getsid(pid) != os.getsid(0)


def test_second_start_is_refused_with_the_first_one_named(daemon: Home) -> None:
    ran = daemon.run("start")
    assert ran.code == 2
    assert str(lock_of(daemon)["pid"]) in ran.refusal
    assert daemon.control.get("/health").status == 200


def test_killed_daemon_does_not_stop_the_next_start(daemon: Home) -> None:
    kill_daemon(daemon)
    assert daemon.control.socket.exists()
    assert daemon.run("status").code == 3
    assert daemon.run("session", "list").code == 3
    daemon.start("--role", "guard")
    assert daemon.control.analyze("rm -rf /")["verdict"] == "BLOCK"
    assert daemon.control.analyze("ls")["verdict"] == "ALLOW"


def test_stale_files_of_all_kinds_do_not_stop_a_start(home: Home) -> None:
    home.write("run/daemon.lock", "not json")
    home.write("run/sessions.json", "{")
    home.write("run/shell-timeout", "x")
    home.dir.joinpath("run").chmod(0o700)
    ran = home.start("--role", "guard")
    assert "sessions" in ran.err
    assert home.control.analyze("ls")["verdict"] == "ALLOW"


def test_file_in_the_place_of_the_socket_is_not_removed(home: Home) -> None:
    path = home.write("run/control.sock", "precious")
    ran = home.run("start")
    assert ran.code == 2
    assert "control.sock" in ran.refusal
    assert path.read_text() == "precious"


def test_run_directory_that_others_can_write_to_is_refused(home: Home) -> None:
    run = home.dir / "run"
    run.mkdir()
    run.chmod(0o777)
    ran = home.run("start")
    assert ran.code == 2
    assert "others can write" in ran.refusal


def test_run_directory_that_is_a_link_is_refused(home: Home, tmp_path: Path) -> None:
    (home.dir / "run").symlink_to(tmp_path)
    assert home.run("start").code == 2


def test_load_errors_are_all_told_and_nothing_runs(home: Home) -> None:
    home.policies(
        {"id": "a", "type": "Regex", "action": "Block", "pattern": "("},
        {"id": "b", "type": "McpTool", "action": "Block"},
        file="bad.json",
    )
    ran = home.run("start", "--role", "guard")
    assert ran.code == 2
    assert all(name in ran.err for name in ("bad.json", "a", "b"))
    assert len(ran.err.splitlines()) >= 2
    assert all(line.startswith("redlane: ") for line in ran.err.splitlines())
    assert peer_pid(home.control.socket) is None
    assert home.run("status").code == 3


def test_unknown_role_is_refused_by_name(home: Home) -> None:
    ran = home.run("start", "--role", "nobody")
    assert ran.code == 2
    assert "nobody" in ran.refusal
    assert home.run("status").code == 3


def test_without_a_role_everything_is_blocked_and_start_says_so(home: Home) -> None:
    ran = home.start()
    assert "blocked" in ran.err
    assert home.control.analyze("ls")["verdict"] == "BLOCK"


def test_long_socket_path_works(home: Home, tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 100)
    socket = deep / "control.sock"
    env = {"REDLANE_SOCKET": str(socket)}
    try:
        assert home.run("start", "--role", "guard", env=env).code == 0
        ran = home.run("status", "--json", env=env)
        assert ran.code == 0
        assert ran.json["socket"] == str(socket)
    finally:
        assert home.run("stop", env=env).code == 0


def test_term_drains_and_blocks_what_is_held(daemon: Home) -> None:
    thread, found = in_background(daemon.control.analyze, "please")
    wait_until_held(daemon)
    os.kill(lock_of(daemon)["pid"], signal.SIGTERM)
    thread.join(20)
    assert [each["verdict"] for each in found] == ["BLOCK"]
    wait_for(lambda: not daemon.control.socket.exists())


def test_stop_waits_for_the_end(daemon: Home) -> None:
    pid = lock_of(daemon)["pid"]
    assert daemon.run("stop").code == 0
    assert not Path(f"/proc/{pid}/exe").exists()


def test_foreground_daemon_ends_with_zero_on_term(home: Home) -> None:
    process = home.spawn("start", "--foreground", "--role", "guard")
    try:
        wait_for(lambda: peer_pid(home.control.socket))
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=20)
        assert process.returncode == 0
        assert "Traceback" not in err
    finally:
        process.kill()
        process.wait()


def test_restart_keeps_the_options_unless_given_anew(home: Home) -> None:
    home.start("--role", "guard", "--roles", "guard")
    assert home.run("restart").code == 0
    status = home.run("status", "--json").json
    assert (status["default_role"], status["only_roles"]) == ("guard", ["guard"])
    assert home.run("restart", "--role", "other", "--roles", "other,guard").code == 0
    status = home.run("status", "--json").json
    assert (status["default_role"], status["roles"]) == ("other", 2)
    assert home.control.analyze("beer")["verdict"] == "ALLOW"


def test_status_says_what_the_kernel_does_not_hold(home: Home) -> None:
    home.start("--role", "guard")
    version = landlock_version()
    wanted = {"landlock": version, "not_held": list(not_held(version))}
    words = ", ".join(not_held(version)) or "held whole"

    told = home.run("status", "--json").json["boundary"]
    assert {each: told[each] for each in wanted} == wanted
    (line,) = re.findall(r"^boundary:.*$", home.run("status").out, re.MULTILINE)
    assert words in line


def test_restart_of_a_stopped_daemon_starts_it_as_before(home: Home) -> None:
    home.start("--role", "guard")
    home.run("stop")
    assert home.run("restart").code == 0
    assert home.run("status", "--json").json["default_role"] == "guard"


def test_reload_applies_what_changed(daemon: Home) -> None:
    assert daemon.control.analyze("make war")["verdict"] == "ALLOW"
    daemon.policies(
        {"id": "peace", "type": "Simple", "action": "Block", "pattern": "war"},
        file="more.json",
    )
    assert daemon.control.analyze("make war")["verdict"] == "ALLOW"
    daemon.role("guard", "no-rm", "ask", "peace")
    answer = daemon.control.post("/api/policies/reload", {})
    assert (answer.status, answer.json["policies"], answer.json["roles"]) == (200, 4, 2)
    assert daemon.control.analyze("make war")["verdict"] == "BLOCK"


def test_failed_reload_changes_nothing_and_says_all(daemon: Home) -> None:
    daemon.write("policies/bad.json", "{")
    daemon.role("guard")
    daemon.role("third", "nothing-of-that-name")
    answer = daemon.control.post("/api/policies/reload", {})
    assert answer.status == 422
    assert answer.error
    found = {Path(each["file"]).name for each in answer.json["errors"]}
    assert found == {"bad.json", "third.json"}
    assert daemon.control.analyze("rm -rf /")["verdict"] == "BLOCK"
    ran = daemon.run("session", "reload")
    assert ran.code == 1
    assert "bad.json" in ran.err
    assert "third.json" in ran.err


def test_reload_on_hup_keeps_the_rules_when_it_fails(daemon: Home) -> None:
    pid = lock_of(daemon)["pid"]
    log = daemon.dir / "logs/daemon.log"
    daemon.write("policies/bad.json", "{")
    os.kill(pid, signal.SIGHUP)
    wait_for(lambda: "the reload changed nothing" in log.read_text())
    assert daemon.control.analyze("rm -rf /")["verdict"] == "BLOCK"
    (daemon.dir / "policies/bad.json").unlink()
    daemon.role("guard")
    os.kill(pid, signal.SIGHUP)
    wait_for(lambda: daemon.control.analyze("rm -rf /")["verdict"] == "ALLOW")


def test_reload_cannot_widen_the_roles(home: Home) -> None:
    home.start("--roles", "other", "--role", "other")
    home.role("late", "no-rm")
    answer = home.control.post("/api/policies/reload", {})
    assert (answer.status, answer.json["roles"]) == (200, 1)
    for role in ("guard", "late"):
        assert home.control.analyze("ls", role=role)["verdict"] == "BLOCK"
        assert home.run("session", "set-role", role).code != 0
    home.settings(sevsh={"default_role": "guard"})
    assert home.control.post("/api/policies/reload", {}).status == 422


def test_reload_body_cannot_widen_the_roles(home: Home) -> None:
    home.start("--roles", "other", "--role", "other")
    body = {"roles": ["guard"], "only_roles": None}
    assert home.control.post("/api/policies/reload", body).json["roles"] == 1


def test_reload_that_removes_a_sessions_role_blocks_it_and_says_so(
    daemon: Home,
) -> None:
    (daemon.dir / "roles/guard.json").unlink()
    answer = daemon.control.post("/api/policies/reload", {})
    assert answer.status == 200
    assert any("blocked" in each["message"] for each in answer.json["warnings"])
    assert daemon.control.analyze("ls")["verdict"] == "BLOCK"
    status = daemon.control.get("/api/status").json
    assert any("guard" in each["message"] for each in status["warnings"])
    assert "everything is blocked" in daemon.run("status").out


def test_verdicts_are_served_during_reloads(daemon: Home) -> None:
    stop = threading.Event()
    verdicts: set[str] = set()

    def ask() -> None:
        while not stop.is_set():
            verdicts.add(daemon.control.analyze("rm -rf /")["verdict"])

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    reloads = [
        in_background(daemon.control.post, "/api/policies/reload", {})
        for _ in range(10)
    ]
    for thread, found in reloads:
        thread.join(60)
        assert [each.status for each in found] == [200]
    stop.set()
    for thread in threads:
        thread.join()
    assert verdicts == {"BLOCK"}


def test_start_seeds_the_default_session_from_settings(home: Home) -> None:
    home.settings(sevsh={"default_role": "other"})
    home.start()
    assert home.control.analyze("beer")["role"] == "other"
    home.run("stop")
    home.settings(sevsh={"default_role": "guard"})
    home.start()
    assert home.control.analyze("beer")["role"] == "guard"


def test_kill_does_not_loosen_a_freeze_or_a_role(home: Home) -> None:
    home.settings(sevsh={"default_role": "other"})
    home.start()
    assert home.run("session", "set-role", "guard").code == 0
    kill_daemon(home)
    home.start()
    assert home.control.analyze("beer")["role"] == "guard"
    assert home.run("session", "freeze").code == 0
    home.run("stop")
    home.start()
    assert home.control.analyze("ls")["verdict"] == "BLOCK"


@pytest.mark.parametrize("command", ["start", "stop", "restart"])
def test_daemon_is_not_handled_from_inside_a_session(
    daemon: Home, command: str
) -> None:
    with actor() as supervisor:
        supervisor.ask("name", "redlane-run")
        code, err = supervisor.ask(
            "command", json.dumps(daemon.environment()), "redlane", command
        )
    assert code == 2
    assert "inside a session" in err
    assert daemon.control.get("/health").status == 200


def test_wrapper_waits_longer_than_a_verdict_may_take(home: Home) -> None:
    home.settings(sevsh={"validation_timeout_seconds": 86_400})
    home.start()
    path = home.dir / "run/shell-timeout"
    assert float(path.read_text()) == 86_402
    home.settings(sevsh={"validation_timeout_seconds": 2.5})
    home.run("session", "reload")
    assert float(path.read_text()) == 4.5


def test_shims_are_there(daemon: Home) -> None:
    names = {each.name for each in (daemon.dir / "run/bin").iterdir()}
    assert {"sh", "bash", "redlane-sh", "redlane"} <= names


def test_log_holds_no_content(daemon: Home) -> None:
    daemon.control.analyze("rm -rf /sekrit")
    daemon.control.send("POST", "/api/analyze", b'{"sekrit')
    daemon.run("stop")
    assert "sekrit" not in (daemon.dir / "logs/daemon.log").read_text()


def test_two_starts_at_once_leave_one_daemon(home: Home) -> None:
    starts = [in_background(home.run, "start", "--role", "guard") for _ in range(3)]
    for thread, _ in starts:
        thread.join(60)
    codes = sorted(found[0].code for _, found in starts)
    assert codes == [0, 2, 2]
    assert home.control.get("/health").status == 200
