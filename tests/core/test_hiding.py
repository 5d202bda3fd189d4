"""What a role hides from its sessions: how that is written, and meant."""

import os
from pathlib import Path

import pytest

from redlane.contexts.syscall.content import SystemCallContent
from redlane.contexts.syscall.owners import PROGRAM, Programs
from redlane.contexts.syscall.surroundings import Surroundings, concealed, unreachable
from redlane.engine.builtins import first_builtin
from redlane.engine.hiding import CONCEALED, Hidden, HiddenPlace
from redlane.model.content import SystemCall
from redlane.model.policy import Role
from redlane.policies.places import EXCEPT, place_problem
from redlane.policies.ruleset import RuleSet
from redlane.policies.secrets import OWNERS, SECRETS
from redlane.state.filters import why_not_held
from redlane.state.sessions import Session

SSH = frozenset({"ssh"})
NOBODY: frozenset[str] = frozenset()
HIDDEN = Hidden(
    (
        HiddenPlace("/h/.ssh", SSH),
        HiddenPlace("/h/.ssh/hosts/own", frozenset({"ssh", "gpg"})),
        HiddenPlace("/h/token"),
    ),
    ("/h/.ssh/hosts", "/h/.ssh/config"),
)


@pytest.mark.parametrize(
    ("name", "paths", "owners"),
    [
        ("open", ("/h/.ssh/id",), SSH),
        ("openat", ("id", "/h/.ssh/id"), SSH),
        ("openat2", ("/h/.ssh",), SSH),
        ("creat", ("/h/.ssh/new",), SSH),
        ("open", ("/h/.ssh/config",), None),
        ("open", ("/h/.ssh/configs",), SSH),
        ("open", ("/h/.ssh/hosts/a",), None),
        ("open", ("/h/.ssh/hosts/own/a",), SSH | {"gpg"}),
        ("open", ("/h/.sshx",), None),
        ("open", ("/h",), None),
        ("open", ("/",), None),
        ("open", ("/h/token",), NOBODY),
        ("open", ("/h/.ssh/../x", "/h/x"), None),
        ("open", (None,), None),
        ("open", ("long", None), NOBODY),
        ("stat", ("/h/.ssh/id",), None),
        ("unlink", ("/h/.ssh/id",), None),
        ("link", ("/h/.ssh/id", "/t/id"), NOBODY),
        ("linkat", ("/t/id", "/h/.ssh/id"), NOBODY),
        ("link", ("/h/.ssh/id", "/h/.ssh/id2"), SSH),
        ("link", ("/h/.ssh/id", "/h/.ssh/config"), NOBODY),
        ("linkat", ("/h/.ssh/id",), NOBODY),
        ("rename", ("/h/.ssh", "/t/s"), NOBODY),
        ("rename", ("/h/.ssh/id", "/h/.ssh/id2"), SSH),
        ("rename", ("/t/new", "/h/.ssh/id"), SSH),
        ("symlink", ("/h/.ssh/authorized_keys",), SSH),
        ("mkdir", ("/h/.ssh",), SSH),
        ("mkdirat", ("/h/other",), None),
        ("rename", ("/h", "/t/h"), NOBODY),
        ("renameat2", ("/t/h", "/h"), NOBODY),
        ("rename", ("/t/h", "/t/g"), None),
        ("rename", ("/h/.ssh/id", "/h/token"), NOBODY),
        ("open", ("/dev/sda1",), NOBODY),
        ("open", ("/dev/nvme0n1p2",), NOBODY),
        ("open", ("/dev/dm-0",), NOBODY),
        ("open", ("/dev/mem",), NOBODY),
        ("open", ("/dev/zram0",), NOBODY),
        ("open", ("/dev/mapper/home",), NOBODY),
        ("open", ("/proc/kcore",), NOBODY),
        ("open", ("/dev/null",), None),
        ("open", ("/proc/8/mem",), NOBODY),
        ("open", ("/proc/8/task/9/mem",), NOBODY),
        ("open", ("/proc/7/mem",), None),
        ("open", ("/proc/8/status",), None),
    ],
)
def test_who_alone_may_make_a_call(
    name: str, paths: tuple[str | None, ...], owners: frozenset[str] | None
) -> None:
    call = SystemCall(name, paths, {"pid": 7}, paths if name != "open" else ())
    assert HIDDEN.owners(call) == owners
    assert owners is None or HIDDEN.concern(call)


def test_the_builtin_blocks_what_was_found_hidden() -> None:
    found = first_builtin(SystemCallContent(SystemCall("open", (), {CONCEALED: True})))
    assert found is not None
    assert found.id == "builtin:hidden"


def test_a_call_cannot_say_of_itself_who_makes_it() -> None:
    told = (
        b'{"syscall": "open", "paths": [], "hidden": true, "program": "/usr/bin/ssh"}'
    )
    content = SystemCallContent.from_json(told)
    assert first_builtin(content) is None
    assert content.system_call is not None
    assert Programs().name(content.system_call) == ""


def around(home: Path) -> Surroundings:
    return Surroundings(str(home), str(home / "tree"))


def test_sets_mean_places_of_the_home_with_their_owners(tmp_path: Path) -> None:
    hidden = concealed(["@keys", "./own"], around(tmp_path))
    where = {each.path: each.owners for each in hidden.places}
    assert "ssh" in where[f"{tmp_path}/.ssh"]
    assert where[f"{tmp_path}/tree/own"] == NOBODY
    assert f"{tmp_path}/.ssh/config" in hidden.shown


def test_what_is_excepted_of_a_set_is_shown(tmp_path: Path) -> None:
    hidden = concealed(["@cloud", "!~/.kube/config", "!@keys"], around(tmp_path))
    assert {f"{tmp_path}/.kube/config", f"{tmp_path}/.ssh"} <= {*hidden.shown}
    assert not {f"{tmp_path}/.ssh"} & {each.path for each in hidden.places}


def test_link_is_hidden_with_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".ssh").symlink_to("elsewhere")
    hidden = concealed(["~/.ssh"], around(tmp_path))
    assert hidden.holds(f"{tmp_path}/.ssh/id")
    assert hidden.holds(f"{tmp_path}/elsewhere/id")


def test_copies_beside_a_hidden_file_are_hidden(tmp_path: Path) -> None:
    hidden = concealed(["@tokens"], around(tmp_path))
    assert hidden.holds(f"{tmp_path}/.netrc.lock")
    assert not hidden.holds(f"{tmp_path}/.netrc.d")


def test_place_by_its_path_is_hidden_from_owners_too(tmp_path: Path) -> None:
    hidden = concealed(["@keys", "~/.ssh"], around(tmp_path))
    call = SystemCall("open", (f"{tmp_path}/.ssh/id",))
    assert hidden.owners(call) == NOBODY
    assert not hidden.holds(f"{tmp_path}/.ssh/config")


@pytest.mark.parametrize("name", SECRETS)
def test_sets_are_of_places(name: str) -> None:
    for secret in SECRETS[name]:
        for place in secret.places:
            assert place_problem(place, ()) is None
            assert place.removeprefix(EXCEPT).startswith("~/")
        assert {*secret.owners} <= {*OWNERS}


def test_owners_are_names_that_stand_in_a_list_between_colons() -> None:
    assert not any(":" in each or "/" in each for each in OWNERS)


@pytest.mark.parametrize(
    ("program", "name"),
    [
        ("/usr/bin/env", "env"),
        ("/usr/bin/awk", ""),  # a link
        ("/usr/bin/none-such", ""),
        ("/bin/env", ""),
        ("/tmp/env", ""),
        ("", ""),
        (None, ""),
        (7, ""),
    ],
)
def test_program_is_known_by_its_installed_file(program: object, name: str) -> None:
    call = SystemCall("open", (), {PROGRAM: program})
    assert Programs().name(call) == name


def test_session_that_no_filter_holds_is_refused_a_role_that_hides() -> None:
    role = Role("r", (), hidden=("@keys",))
    ruleset = RuleSet((), (role,), {}, "")
    held = Session("a", "r", root_pid=1, filtered=())
    assert "hides" in why_not_held(Session("a", "r", root_pid=1), ruleset)
    assert why_not_held(held, ruleset) == ""


def test_sockets_of_services_are_those_of_who_starts_the_session(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/elsewhere")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/agents/mine")
    monkeypatch.setenv("DOCKER_HOST", "unix:///docks/mine")
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/buses/mine,guid=1")
    around, uid = Surroundings.of_this_process(), os.geteuid()
    found = {each.path: each.owners for each in unreachable(["@services"], around)}
    for path in (f"/run/user/{uid}/bus", "/elsewhere/bus", f"/tmp/tmux-{uid}"):
        assert os.path.realpath(path) in found
    assert "docker" in found["/docks/mine"]
    assert "systemctl" in found["/buses/mine"]
    keys = {each.path: each.owners for each in unreachable(["@keys"], around)}
    assert keys["/agents/mine"] == {"ssh", "ssh-add", "ssh-keygen"}
    for entries in (["~/.ssh", "!@services"], ["@services", "!@services"]):
        assert not unreachable(entries, around)
    entries = ["@services", "!/docks/mine"]
    paths = {each.path for each in unreachable(entries, around)}
    assert set(found) - paths == {"/docks/mine"}
