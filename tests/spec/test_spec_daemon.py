"""`start`, `stop`, `restart` and `status` (policy format: Endpoints; contract)."""

import os
import signal
import stat

import pytest
from spec.cases import regex, simple
from spec.control_client import peer_pid
from spec.redlane_home import Home, wait_for


@pytest.fixture
def ready(home: Home) -> Home:
    home.policies(
        {"id": "pa", **simple("Block", "aaa")},
        {"id": "pb", **simple("Block", "bbb")},
        {"id": "pc", **simple("Block", "ccc")},
    )
    home.role("a", "pa")
    home.role("b", "pb")
    home.role("c", "pc")
    return home


def _verdict(home: Home, content: str, role: str | None = None) -> str:
    more = {} if role is None else {"role": role}
    return str(home.control.analyze(content, hold=False, **more)["verdict"])


def test_status_tells_whether_it_runs(ready: Home) -> None:
    assert ready.run("status").code == 3
    ready.start("--role", "a")
    assert ready.run("status").code == 0
    assert ready.run("stop").code == 0
    assert ready.run("status").code == 3


def test_status_as_json(ready: Home) -> None:
    ready.start("--role", "a")

    ran = ready.run("status", "--json")

    assert ran.code == 0
    assert isinstance(ran.json, dict)


def test_stop_without_a_daemon_is_exit_0(ready: Home) -> None:
    assert ready.run("stop").code == 0


def test_start_returns_when_the_daemon_answers(ready: Home) -> None:
    ready.start("--role", "a")

    assert _verdict(ready, "aaa") == "BLOCK"
    assert _verdict(ready, "x") == "ALLOW"


def test_stop_returns_when_the_daemon_is_gone(ready: Home) -> None:
    ready.start("--role", "a")
    pid = peer_pid(ready.control.socket)
    assert pid is not None

    ready.run("stop")

    assert peer_pid(ready.control.socket) is None
    assert ready.start("--role", "b").code == 0


def test_a_second_start_is_refused(ready: Home) -> None:
    ready.start("--role", "a")

    ran = ready.run("start", "--role", "b")

    assert ran.refusal
    assert _verdict(ready, "aaa") == "BLOCK"


def test_what_a_killed_daemon_leaves_is_no_obstacle(ready: Home) -> None:
    ready.start("--role", "a")
    pid = peer_pid(ready.control.socket)
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: peer_pid(ready.control.socket) is None)

    assert ready.run("status").code == 3
    assert ready.run("stop").code == 0
    ready.start("--role", "b")
    assert _verdict(ready, "bbb") == "BLOCK"


def test_sigterm_ends_the_daemon(ready: Home) -> None:
    ready.start("--role", "a")
    pid = peer_pid(ready.control.socket)
    assert pid is not None

    os.kill(pid, signal.SIGTERM)

    wait_for(lambda: ready.run("status").code == 3)


def test_foreground_stays_until_it_is_stopped(ready: Home) -> None:
    daemon = ready.spawn("start", "--role", "a", "--foreground")
    with daemon:
        wait_for(lambda: peer_pid(ready.control.socket))
        assert daemon.poll() is None
        assert _verdict(ready, "aaa") == "BLOCK"
        ready.run("stop")
        assert daemon.wait(20) == 0


def test_restart_loads_anew(ready: Home) -> None:
    ready.start("--role", "a")
    ready.policies({"id": "pa", **simple("Block", "other")})
    ready.role("b")
    ready.role("c")

    assert ready.run("restart").code == 0
    assert ready.run("status").code == 0
    assert _verdict(ready, "other", "a") == "BLOCK"
    assert _verdict(ready, "aaa", "a") == "ALLOW"


def test_the_socket_is_for_its_owner_alone(ready: Home) -> None:
    ready.start("--role", "a")

    mode = ready.control.socket.stat().st_mode

    assert stat.S_ISSOCK(mode)
    assert stat.S_IMODE(mode) == 0o600


def test_xdg_runtime_dir_holds_the_socket(ready: Home) -> None:
    runtime = ready.user / "rt"
    runtime.mkdir(mode=0o700)
    ready.env["XDG_RUNTIME_DIR"] = str(runtime)
    ready.start("--role", "a")
    try:
        assert peer_pid(runtime / "redlane" / "control.sock")
    finally:
        ready.run("stop")


def test_redlane_socket_names_the_socket(ready: Home) -> None:
    socket = ready.user / "my" / "own.sock"
    socket.parent.mkdir(mode=0o700)
    ready.env["REDLANE_SOCKET"] = str(socket)
    ready.start("--role", "a")
    try:
        assert peer_pid(socket)
        assert ready.run("status").code == 0
    finally:
        ready.run("stop")
    assert ready.run("status").code == 3


def test_a_long_path_to_the_socket_works(ready: Home) -> None:
    home = ready.user / ("long" * 40)
    ready.dir.rename(home)
    ready.env["REDLANE_HOME"] = str(home)
    ready.dir = home
    ready.start("--role", "a")
    try:
        assert ready.run("status").code == 0
        assert _verdict(ready, "aaa") == "BLOCK"
        assert ready.shell("-c", "echo aaa").code == 126
        assert ready.shell("-c", "echo bbb").out == "bbb\n"
    finally:
        ready.run("stop")


# Load errors.


def test_start_refuses_and_lists_every_load_error(ready: Home) -> None:
    ready.write("policies/x.json", {"id": "bad-regex", **regex("Block", "(")})
    ready.write(
        "policies/y.json", {"id": "no-pattern", "type": "Simple", "action": "Block"}
    )
    ready.write("roles/x.json", {"name": "dangles", "policies": ["nowhere"]})

    ran = ready.run("start", "--role", "a")

    assert ran.code not in (0, 3)
    assert "Traceback" not in ran.said
    for word in ("bad-regex", "no-pattern", "dangles", "nowhere"):
        assert word in ran.err
    assert ready.run("status").code == 3


def test_start_with_warnings_works(ready: Home) -> None:
    ready.policies({"id": "wide", **regex("Allow", ".*")}, file="x.json")

    ready.start("--role", "a")


def test_start_refuses_an_unknown_role_and_names_it(ready: Home) -> None:
    ran = ready.run("start", "--role", "nobody")

    assert "nobody" in ran.refusal
    assert ready.run("status").code == 3


def test_start_refuses_a_default_role_that_is_not_loaded(ready: Home) -> None:
    ready.settings(sevsh={"default_role": "nobody"})

    ran = ready.run("start")

    assert ran.code not in (0, 3)
    assert "nobody" in ran.err
    assert ready.run("status").code == 3


def test_start_refuses_a_default_role_outside_the_restriction(ready: Home) -> None:
    ready.settings(sevsh={"default_role": "c"})

    ran = ready.run("start", "--roles", "a,b")

    assert ran.code not in (0, 3)
    assert "'c'" in ran.err or '"c"' in ran.err or " c" in ran.err
    assert ready.run("status").code == 3


def test_start_refuses_a_role_outside_the_restriction(ready: Home) -> None:
    assert ready.run("start", "--role", "c", "--roles", "a,b").refusal


def test_start_refuses_a_restriction_to_an_unknown_role(ready: Home) -> None:
    assert "nobody" in ready.run("start", "--roles", "a,nobody").refusal


@pytest.mark.parametrize("roles", ["", ",", " "], ids=["empty", "comma", "space"])
def test_an_empty_restriction_is_no_way_to_load_every_role(
    ready: Home, roles: str
) -> None:
    ran = ready.run("start", "--roles", roles)

    if ran.code == 0:
        assert _verdict(ready, "x", "a") == "BLOCK"


# Roles.


def test_start_without_a_role_says_that_everything_is_blocked(ready: Home) -> None:
    ran = ready.start()

    assert "block" in ran.said.lower()
    assert _verdict(ready, "x") == "BLOCK"


def test_the_default_role_seeds_the_default_session(ready: Home) -> None:
    ready.settings(sevsh={"default_role": "b"})
    ready.start()

    assert _verdict(ready, "bbb") == "BLOCK"
    assert _verdict(ready, "aaa") == "ALLOW"


def test_role_goes_before_the_default_role(ready: Home) -> None:
    ready.settings(sevsh={"default_role": "b"})
    ready.start("--role", "a")

    assert _verdict(ready, "aaa") == "BLOCK"
    assert _verdict(ready, "bbb") == "ALLOW"


def test_roles_restricts_what_is_loaded(ready: Home) -> None:
    ready.start("--roles", "a,b", "--role", "a")

    assert _verdict(ready, "x", "b") == "ALLOW"
    assert _verdict(ready, "x", "c") == "BLOCK"


def _is_restricted(home: Home) -> None:
    assert _verdict(home, "x", "a") == "ALLOW"
    assert _verdict(home, "x", "c") == "BLOCK"
    assert home.run("session", "set-role", "c").refusal
    assert _verdict(home, "x") == "ALLOW"


@pytest.mark.parametrize(
    "body",
    [{}, {"roles": ["a", "b", "c"]}, {"roles": "a,b,c"}, {"roles": None, "role": "c"}],
    ids=["empty", "list", "text", "null"],
)
def test_a_reload_cannot_widen_the_restriction(
    ready: Home, body: dict[str, object]
) -> None:
    ready.start("--roles", "a,b", "--role", "a")

    ready.control.post("/api/policies/reload", body)

    _is_restricted(ready)


def test_the_restriction_survives_reload_from_the_command_line(ready: Home) -> None:
    ready.start("--roles", "a,b", "--role", "a")
    ready.role("d", "pc")

    assert ready.run("session", "reload").code == 0

    _is_restricted(ready)
    assert _verdict(ready, "x", "d") == "BLOCK"


def test_the_settings_cannot_widen_the_restriction(ready: Home) -> None:
    ready.start("--roles", "a,b", "--role", "a")
    ready.settings(sevsh={"default_role": "c"})

    ran = ready.run("session", "reload")

    assert ran.code != 0
    _is_restricted(ready)


# Commands that need the daemon.


@pytest.mark.parametrize(
    "args",
    [
        ("session", "list"),
        ("session", "reload"),
        ("session", "set-role", "a"),
        ("session", "freeze"),
        ("session", "unfreeze"),
        ("review", "list"),
        ("review", "allow", "1"),
        ("review", "show", "1"),
    ],
    ids=" ".join,
)
def test_without_a_daemon_exit_3_and_how_to_start_it(
    ready: Home, args: tuple[str, ...]
) -> None:
    ran = ready.run(*args)

    assert ran.code == 3
    assert "redlane start" in ran.refusal


def test_run_without_a_daemon_does_not_run_the_agent(ready: Home) -> None:
    canary = ready.user / "canary"

    ran = ready.run("run", "--no-start", "--", "touch", str(canary))

    assert ran.code == 3
    assert ran.refusal
    assert not canary.exists()
