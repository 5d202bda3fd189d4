"""Where the sessions of a role may change files: how that is written, and meant."""

import os
import subprocess
from pathlib import Path

import pytest

from redlane.contexts.syscall.content import SystemCallContent
from redlane.contexts.syscall.repositories import repository_of
from redlane.contexts.syscall.surroundings import Surroundings, resolved
from redlane.engine.builtins import first_builtin
from redlane.engine.places import OUTSIDE, Places
from redlane.errors import RedlaneError
from redlane.model.content import SystemCall
from redlane.model.policy import Role
from redlane.policies.places import PLACES as SETS
from redlane.policies.places import place_problem
from redlane.policies.ruleset import RuleSet
from redlane.state.filters import why_not_held
from redlane.state.sessions import Session

PLACES = Places(
    ("/w", "/t", "/w/kept/free", "/f.json", "/c/x/y", "/h/.a*"), ("/w/kept",), ("/w",)
)


@pytest.mark.parametrize(
    ("changed", "are_left"),
    [
        ((), False),
        (("/w/a",), False),
        (("/w",), False),
        (("/f.json",), False),
        (("/f.json/x",), False),
        (("/f.jsonx",), True),
        (("/wide",), True),
        (("/h/.a",), False),
        (("/h/.ab.lock/c",), False),
        (("/h/.b",), True),
        (("/h",), True),
        (("/etc/passwd",), True),
        (("/",), True),
        ((None,), True),
        (("/w/a", None), True),
        (("/w/kept",), True),
        (("/w/kept/a",), True),
        (("/w/kept2",), False),
        (("/w/kept/free/a",), False),
        (("/w/a", "/t/b"), False),
        (("/w/a", "/etc/b"), True),
        (("/c/x",), True),
        (("/dev/null",), True),
        (("/dev/pts/3",), True),
        (("/memfd:x/y",), True),
        (("/proc/7/oom_score_adj",), True),
        (("pipe:[7]",), False),
    ],
)
def test_call_may_change_only_what_is_in_a_place(
    changed: tuple[str | None, ...], *, are_left: bool
) -> None:
    # What is not changed does not count, wherever it is.
    call = SystemCall("truncate", ("/etc/passwd", None), {}, changed)
    assert PLACES.are_left(call) is are_left


@pytest.mark.parametrize(
    ("path", "flags", "are_left"),
    [
        ("/dev/null", os.O_WRONLY | os.O_CREAT, False),
        ("/dev/pts/3", os.O_RDWR, False),
        ("/dev/nvidia0", os.O_RDWR, False),
        ("/dev/nvidia-new", os.O_RDWR | os.O_CREAT, True),
        ("/dev/pts/x", os.O_RDWR, True),
        ("/dev/sda", os.O_RDWR, True),
        ("/dev/mem", os.O_RDWR, True),
        ("/proc/7/oom_score_adj", os.O_WRONLY, False),
        ("/proc/sys/kernel/core_pattern", os.O_WRONLY, True),
        ("/sys/power/state", os.O_WRONLY, True),
        ("/memfd:x", os.O_RDWR, False),
    ],
)
def test_what_keeps_nothing_may_be_opened(
    path: str, flags: int, *, are_left: bool
) -> None:
    call = SystemCall("openat", (path,), {"args": [0, 0, flags]}, (path,))
    assert PLACES.are_left(call) is are_left


@pytest.mark.parametrize(
    ("name", "changed", "flags", "are_left"),
    [
        ("rename", ("/w/a", "/w/b"), 0, False),
        ("rename", ("/t/new", "/f.json"), 0, False),
        ("rename", ("/w", "/t/w"), 0, True),
        ("rename", ("/t/w", "/w"), 0, True),
        ("rename", ("/t", "/w/t"), 0, False),
        ("renameat2", ("/t/a", "/w/a"), 2, False),
        ("renameat2", ("/t/a", "/f.json"), 2, False),
        ("renameat2", ("/t/a", "/w/kept/free"), 0, False),
        ("rmdir", ("/w",), 0, True),
        ("unlinkat", ("/w",), 0, True),
        ("unlink", ("/f.json",), 0, False),
        ("symlink", ("/w/a",), 0, False),
        ("symlinkat", ("/w",), 0, True),
        ("symlink", ("/c/x",), 0, True),
        ("mkdir", ("/c/x",), 0, False),
        ("mkdirat", ("/c",), 0, False),
        ("mkdir", ("/c/z",), 0, True),
        ("mknod", ("/c/x",), 0, True),
    ],
)
def test_names_that_lead_to_places_stay(
    name: str, changed: tuple[str, ...], flags: int, *, are_left: bool
) -> None:
    call = SystemCall(name, changed, {"args": [0, 0, 0, 0, flags]}, changed)
    assert PLACES.are_left(call) is are_left


def test_no_place_is_no_permission() -> None:
    assert Places().are_left(SystemCall("mkdir", changed=("/tmp/a",)))


def test_the_builtin_blocks_what_was_found_outside() -> None:
    found = first_builtin(SystemCallContent(SystemCall("mkdir", (), {OUTSIDE: True})))
    assert found is not None
    assert found.id == "builtin:writable"


def test_a_call_cannot_say_so_of_itself() -> None:
    told = b'{"syscall": "open", "paths": [], "outside": true}'
    assert first_builtin(SystemCallContent.from_json(told)) is None


@pytest.mark.parametrize(
    "entry", ["/", "/srv", "~", "~/a/b", ".", "./a", "!~/a", *SETS]
)
def test_entry_that_is_a_place(entry: str) -> None:
    assert place_problem(entry, SETS) is None


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ("srv", "begin it with"),
        ("", "begin it with"),
        ("!", "begin it with"),
        ("~ada/x", "begin it with"),
        ("$HOME", "begin it with"),
        ("../x", "without `..`"),
        ("/srv/../etc", "without `..`"),
        ("/a\0b", "without `..`"),
        ("@wrok", "did you mean '@work'?"),
        ("!@", "expected one of"),
    ],
)
def test_entry_that_is_none_is_told(entry: str, told: str) -> None:
    problem = place_problem(entry, SETS)
    assert problem is not None
    assert told in problem


@pytest.fixture
def around(tmp_path: Path) -> Surroundings:
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    return Surroundings(os.fspath(home), os.fspath(work))


def test_entries_are_meant_from_home_and_working_directory(
    around: Surroundings,
) -> None:
    entries = ["~", "~/a/b", ".", "./c", "/srv/", "/", "!~/d", "!./e"]
    found = resolved(entries, around)
    home, work = around.home, around.work
    here = {home, f"{home}/a/b", work, f"{work}/c", "/srv", "/"}
    assert {*found.writable} == here
    assert found.kept == (f"{home}/d", f"{work}/e")
    assert {*found.tops} == {home, work}


def test_temporary_directory_of_the_person_is_among_the_temporary_ones() -> None:
    found = resolved(["@temporary"], Surroundings("/h", "/w", "/scratch/of-ada"))
    assert {"/tmp", "/var/tmp", "/scratch/of-ada"} <= set(found.writable)


def test_what_the_person_has_moved_is_a_place_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    variables = {
        "HOME": os.fspath(home),
        "CARGO_HOME": os.fspath(tmp_path / "cargo"),
        "XDG_CACHE_HOME": "relative",
        "GOPATH": os.fspath(tmp_path),  # the home is in it
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    places = resolved(["@caches"], Surroundings.of_this_process()).writable
    assert os.fspath(tmp_path / "cargo/registry") in places
    assert os.fspath(home / ".cargo/registry") in places
    assert os.fspath(home / ".cache") in places
    assert os.fspath(tmp_path / "pkg") not in places


def test_link_on_the_way_is_followed_and_the_place_itself_is_not(
    around: Surroundings, tmp_path: Path
) -> None:
    home, other = Path(around.home), tmp_path / "other"
    other.mkdir()
    (home / "way").symlink_to(other)
    (home / ".cache").symlink_to("/")
    found = resolved(["~/way/a", "~/.cache"], around)
    assert {*found.writable} == {f"{other}/a", f"{home}/.cache"}


def test_link_on_the_way_within_another_place_is_not_followed(
    around: Surroundings,
) -> None:
    """Where a session could have made it, it leads the next one nowhere."""
    (Path(around.work) / "x").symlink_to("/etc")
    found = resolved(["./x/y", "."], around)
    assert {*found.writable} == {around.work, f"{around.work}/x/y"}


def test_exception_that_is_a_link_keeps_what_it_leads_to(around: Surroundings) -> None:
    (Path(around.work) / "env").symlink_to("real")
    found = resolved([".", "!./env"], around)
    assert found.kept == (f"{around.work}/env", f"{around.work}/real")


def test_working_directory_that_is_gone_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(RedlaneError, match="working directory has been removed"):
        Surroundings.of_this_process()


def git(directory: Path, *words: str) -> None:
    identity = (
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "-c",
        "init.defaultBranch=m",
    )
    more = ("-c", "protocol.file.allow=always")
    command = ("git", "-C", os.fspath(directory), *identity, *more, *words)
    subprocess.run(command, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    made = tmp_path / "repository"
    made.mkdir()
    git(made, "init")
    git(made, "commit", "--allow-empty", "-m", "first")
    return made


def paths(work: Path) -> list[str]:
    return list(repository_of(os.fspath(work)))


def test_repository_above_belongs_to_the_work(repository: Path) -> None:
    (repository / "a" / "b").mkdir(parents=True)
    assert paths(repository / "a" / "b") == [f"{repository}/.git"]


def test_linked_working_tree_has_its_repository(repository: Path) -> None:
    linked = repository.parent / "linked"
    git(repository, "worktree", "add", os.fspath(linked))
    assert paths(linked) == [
        f"{repository}/.git/worktrees/linked",
        f"{repository}/.git",
    ]


def test_submodule_has_its_part_of_the_repository(repository: Path) -> None:
    outer = repository.parent / "outer"
    outer.mkdir()
    git(outer, "init")
    git(outer, "submodule", "add", os.fspath(repository), "inner")
    assert paths(outer / "inner") == [f"{outer}/.git/modules/inner"]


@pytest.mark.parametrize("what", ["file", "link", "foreign repository"])
def test_what_a_session_left_behind_leads_nowhere(repository: Path, what: str) -> None:
    work, home = repository.parent / "work", repository.parent / "home"
    work.mkdir()
    home.mkdir()
    if what == "link":
        (work / ".git").symlink_to(home)
    else:
        target = home if what == "file" else repository / ".git"
        (work / ".git").write_text(f"gitdir: {target}\n")
    (home / "gitdir").write_text("elsewhere\n")
    assert paths(work) == []


@pytest.mark.parametrize("own", ["evil", "evil/worktrees/x"])
def test_directory_of_the_session_tells_of_no_repository(
    repository: Path, own: str
) -> None:
    work = repository.parent / "work"
    (work / own).mkdir(parents=True)
    (work / ".git").write_text(f"gitdir: {own}\n")
    (work / own / "gitdir").write_text(f"{work}/.git\n")
    (work / own / "commondir").write_text(f"{repository}/.git\n")
    assert all(Path(each).is_relative_to(work) for each in paths(work))


def test_submodule_has_no_part_of_another_one(repository: Path) -> None:
    outer = repository.parent / "outer"
    outer.mkdir()
    git(outer, "init")
    for name in ("inner", "other"):
        git(outer, "submodule", "add", os.fspath(repository), name)
    (outer / "inner" / ".git").write_text("gitdir: ../.git/modules/other\n")
    assert paths(outer / "inner") == []


@pytest.mark.parametrize(
    ("places", "writable", "is_held"),
    [(True, ("@work",), True), (False, ("@work",), False), (False, None, True)],
)
def test_session_is_held_only_by_a_filter_that_stops_changes(
    *, places: bool, writable: tuple[str, ...] | None, is_held: bool
) -> None:
    role = Role("r", (), writable=writable)
    session = Session("s", "r", root_pid=7, filtered=(), places=places)
    problem = why_not_held(session, RuleSet((), (role,), {}, ""))
    assert (problem == "") is is_held


HELD_BY_RUN = {
    "the same": (("@work",), True),
    "one more than it is held to": (("@work", "/srv"), True),
    "another one": (("/srv",), False),
    "an exception that it is not held to": (("@work", "!./secrets"), False),
    "nowhere": ((), False),
}


@pytest.mark.parametrize(("wanted", "is_held"), HELD_BY_RUN.values(), ids=HELD_BY_RUN)
def test_session_stays_held_to_where_its_role_let_it_write_as_it_began(
    wanted: tuple[str, ...], *, is_held: bool
) -> None:
    session = Session("s", role="r", root_pid=1, placed=("@work",))
    role = Role("r", (), writable=wanted, namespaces=True)
    problem = why_not_held(session, RuleSet((), (role,), {}, ""))
    assert bool(problem) is not is_held


HIDDEN_BY_RUN = {
    "the same": (("@keys", "!~/.ssh/config"), True),
    "less": (("!~/.ssh/config",), True),
    "one exception more": (("@keys", "!~/.ssh/config", "!~/.ssh/x"), True),
    "one more": (("@keys", "@cloud", "!~/.ssh/config"), False),
    "an exception less": (("@keys",), False),
}


@pytest.mark.parametrize(
    ("wanted", "is_held"), HIDDEN_BY_RUN.values(), ids=HIDDEN_BY_RUN
)
def test_session_stays_kept_from_what_its_role_hid_as_it_began(
    wanted: tuple[str, ...], *, is_held: bool
) -> None:
    hidden = ("@keys", "!~/.ssh/config")
    session = Session("s", role="r", root_pid=1, concealed=hidden)
    problem = why_not_held(
        session, RuleSet((), (Role("r", (), hidden=wanted),), {}, "")
    )
    assert bool(problem) is not is_held


def test_session_that_may_be_in_namespaces_does_not_take_a_role_without() -> None:
    session = Session("s", role="r", root_pid=1, placed=("@work",), sandboxes=True)
    role = Role("r", (), writable=("@work",))
    assert why_not_held(session, RuleSet((), (role,), {}, ""))
