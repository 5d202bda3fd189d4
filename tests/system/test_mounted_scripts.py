"""What a process in mounts of its own runs is judged by what it finds there.

A script may be another one than that of the same name outside. So it is where a filter
of the session's own stands over the shell.
"""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from calls_home import needs_filters
from spec.redlane_home import Home, Ran
from system.hidden_ground import OWN_MOUNTS, PYTHON
from system.own_filter import LIKE_CODEX
from system.sandboxed_home import EVIL, REASON, made_home, words_of

BWRAP = shutil.which("bwrap") or ""

pytestmark = [
    needs_filters,
    pytest.mark.skipif(
        subprocess.run([*OWN_MOUNTS, "true"], check=False).returncode != 0,
        reason="NOT TESTED: no namespaces are to be had here",
    ),
]

MOUNT = """\
import ctypes, errno, os, sys
def mount(what, where, kind, flags):
    if ctypes.CDLL(None, use_errno=True).mount(what, where, kind, flags, None):
        sys.exit(errno.errorcode[ctypes.get_errno()])
"""
BIND = f"""{MOUNT}
mount(os.fsencode(sys.argv[1]), os.fsencode(sys.argv[2]), None, 4096)
os.execvp(sys.argv[3], sys.argv[3:])
"""
IN_MEMORY = f"""{MOUNT}
mount(b"tmpfs", b"good", b"tmpfs", 0)
with open("good/x.sh", "w") as script:
    script.write(sys.stdin.read())
    os.fchmod(script.fileno(), 0o755)
os.execvp(sys.argv[1], sys.argv[1:])
"""
UNSHARED = (*OWN_MOUNTS, PYTHON, "-I", "-c")
BOXES = {
    "unshare": (*UNSHARED, BIND, "{what}", "{where}"),
    "bwrap": (BWRAP, "--dev-bind", "/", "/", "--bind", "{what}", "{where}"),
    "bwrap with processes of its own": (
        *(BWRAP, "--unshare-all", "--dev-bind", "/", "/", "--proc", "/proc"),
        *("--bind", "{what}", "{where}"),
    ),
}
RUNS = {
    "sh FILE": ("sh", "good/x.sh"),
    "bash FILE": ("bash", "./good/x.sh"),
    "first line": ("good/x.sh",),
    "sourced": ("bash", "-c", ". ./good/x.sh"),
    "a directory further down": ("sh", "-c", "cd good && . ./x.sh"),
    "whole path": ("sh", "-c", 'sh "$PWD/good/x.sh"'),
    "link": ("sh", "link"),
    "another program": ("env", "sh", "good/x.sh"),
}
FILTERS = {"none of its own": "-", "its own filter": LIKE_CODEX}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    made = made_home(tmp_path_factory.mktemp("h"))
    hidden = ["~/own"]
    made.role("hides", "no-word", "let", "tea", hidden=hidden, namespaces="allow")
    assert made.run("reload").code == 0
    (made.user / "own").mkdir()
    yield made
    made.stop()


@pytest.fixture(params=BOXES)
def box(request: pytest.FixtureRequest) -> tuple[str, ...]:
    if request.param != "unshare" and not BWRAP:
        pytest.skip("NOT TESTED: there is no bubblewrap")
    return BOXES[request.param]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name, text in (("good", "echo fine"), ("evil", EVIL)):
        (tmp_path / name).mkdir()
        write(tmp_path / name / "x.sh", text)
    (tmp_path / "link").symlink_to("good/x.sh")
    return tmp_path


def write(script: Path, text: str) -> None:
    script.write_text(f"#!/bin/sh\n{text}\n")
    script.chmod(0o755)


def bound(box: tuple[str, ...], what: Path, where: Path) -> list[str]:
    return [each.format(what=what, where=where) for each in box]


def run(
    home: Home,
    place: Path,
    *words: str,
    within: list[str],
    rules: str = "-",
    role: str = "plain",
    stdin: str = "",
) -> Ran:
    command = [*within, *words_of(rules, "exec", words)]
    return home.run("run", "--role", role, "--", *command, cwd=place, stdin=stdin)


@pytest.mark.parametrize("rules", FILTERS.values(), ids=FILTERS)
@pytest.mark.parametrize("way", RUNS)
def test_script_that_is_mounted_over_another_is_judged(
    home: Home, place: Path, box: tuple[str, ...], way: str, rules: str
) -> None:
    within = bound(box, place / "evil", place / "good")

    done = run(home, place, *RUNS[way], within=within, rules=rules)

    assert (done.code, done.out) == (126, ""), done
    assert REASON in done.err, done


@pytest.mark.parametrize("rules", FILTERS.values(), ids=FILTERS)
@pytest.mark.parametrize("way", RUNS)
def test_script_that_is_mounted_over_is_not_judged(
    home: Home, place: Path, box: tuple[str, ...], way: str, rules: str
) -> None:
    (place / "good").rename(place / "other")
    (place / "evil").rename(place / "good")
    within = bound(box, place / "other", place / "good")

    done = run(home, place, *RUNS[way], within=within, rules=rules)

    assert (done.code, done.out, done.err) == (0, "fine\n", ""), done


@pytest.mark.parametrize("rules", FILTERS.values(), ids=FILTERS)
@pytest.mark.parametrize("way", RUNS)
def test_script_is_judged_as_ever_where_nothing_is_mounted(
    home: Home, place: Path, way: str, rules: str
) -> None:
    fine = run(home, place, *RUNS[way], within=[], rules=rules)
    write(place / "good/x.sh", EVIL)
    blocked = run(home, place, *RUNS[way], within=[], rules=rules)

    assert (fine.code, fine.out, fine.err) == (0, "fine\n", ""), fine
    assert (blocked.code, blocked.out) == (126, ""), blocked
    assert REASON in blocked.err


@pytest.mark.parametrize("rules", FILTERS.values(), ids=FILTERS)
@pytest.mark.parametrize("way", ["sh FILE", "first line", "sourced"])
@pytest.mark.parametrize("text", ["echo fine", EVIL], ids=["fine", "evil"])
def test_script_in_memory_is_judged_and_runs(
    home: Home, place: Path, way: str, text: str, rules: str
) -> None:
    within = [*UNSHARED, IN_MEMORY]
    script = f"#!/bin/sh\n{text}\n"

    done = run(home, place, *RUNS[way], within=within, rules=rules, stdin=script)

    expected = (0, "fine\n", "") if text != EVIL else (126, "", REASON)
    assert (done.code, done.out, done.err) == expected, done


@pytest.mark.parametrize("rules", FILTERS.values(), ids=FILTERS)
@pytest.mark.parametrize("text", ["echo fine", EVIL, "echo let-me"])
def test_what_is_hidden_decides_nothing_where_it_is_mounted(
    home: Home, place: Path, box: tuple[str, ...], text: str, rules: str
) -> None:
    write(home.user / "own/x.sh", text)
    within = bound(box, home.user / "own", place / "good")

    done = run(home, place, "sh", "good/x.sh", within=within, rules=rules, role="hides")

    assert (done.code != 0, done.out) == (True, ""), done
    assert "no-word" not in done.err, done
    assert "hidden" in done.err or "not permitted" in done.err, done


@pytest.mark.parametrize("rules", FILTERS.values(), ids=FILTERS)
def test_what_hides_beside_it_is_judged(
    home: Home, place: Path, box: tuple[str, ...], rules: str
) -> None:
    within = bound(box, place / "evil", place / "good")

    done = run(home, place, "sh", "good/x.sh", within=within, rules=rules, role="hides")

    assert (done.code, done.out, done.err) == (126, "", REASON), done


@pytest.mark.parametrize("rules", FILTERS.values(), ids=FILTERS)
def test_script_that_is_mounted_over_a_hidden_one_is_judged(
    home: Home, place: Path, box: tuple[str, ...], rules: str
) -> None:
    """What is found there is no secret."""
    write(home.user / "own/x.sh", "echo secret")
    script = str(home.user / "own/x.sh")
    for what, expected in (("good", (0, "fine\n")), ("evil", (126, ""))):
        within = bound(box, place / what, home.user / "own")
        done = run(home, place, "sh", script, within=within, rules=rules, role="hides")
        assert (done.code, done.out) == expected, done


MACHINES = {
    "what a login shell begins with": ("/etc/profile", ("bash", "-lc", "echo fine")),
    "an installed script": ("/usr/bin/zgrep", ("zgrep", "--version")),
}


@pytest.mark.parametrize("rules", FILTERS.values(), ids=FILTERS)
@pytest.mark.parametrize("way", MACHINES)
def test_what_is_mounted_over_the_machines_own_is_judged(
    home: Home, place: Path, box: tuple[str, ...], way: str, rules: str
) -> None:
    where, words = MACHINES[way]
    if not Path(where).exists():
        pytest.skip(f"NOT TESTED: there is no {where}")
    within = bound(box, place / "evil/x.sh", Path(where))

    done = run(home, place, *words, within=within, rules=rules)

    assert "evil-2" not in done.out, done
    assert (done.code, REASON in done.err) == (126, True), done


def test_script_of_a_root_of_its_own_is_not_installed(home: Home, place: Path) -> None:
    """Where its user is 0 and all is root's."""
    if not BWRAP:
        pytest.skip("NOT TESTED: there is no bubblewrap")
    own = [BWRAP, "--unshare-user", "--uid", "0", "--gid", "0", "--tmpfs", "/"]
    for each in filter(Path.exists, map(Path, ("/bin", "/lib", "/lib64", "/etc"))):
        own += ["--ro-bind", str(each), str(each)]
    own += ["--dir", "/usr", "--dir", "/usr/bin", "--proc", "/proc", "--chdir", "/"]
    own += ["--ro-bind", str(home.dir), str(home.dir)]
    own += ["--ro-bind", str(place / "evil/x.sh"), "/usr/bin/x", "/usr/bin/x"]

    done = home.run("run", "--role", "plain", "--", *own, cwd=place)

    assert "evil-2" not in done.out, done
    assert (done.code, REASON in done.err) == (126, True), done
