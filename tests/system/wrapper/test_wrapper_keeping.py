"""What `redlane-run --keep` keeps: no call changes it, and all the rest go on."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from system.scripted_peer import ScriptedPeer
from system.ways_to_own_files import BOUND, COVERED, REFUSED, TWINS, UNSEEN, WAYS
from system.wrapper_programs import Wrapper

PYTHON = "/usr/bin/python3"
INSIDER = """\
import ctypes, json, os, shutil, socket, sys
os.chdir(sys.argv[1])
c = ctypes.CDLL(None, use_errno=True)
def call(number, *words):
    if c.syscall(number, *words) < 0:
        raise OSError(ctypes.get_errno(), "")
def write(path, flags=os.O_WRONLY | os.O_CREAT, **more):
    os.close(os.open(path, flags, 0o666, **more))
def reading(path):
    return os.open(path, os.O_RDONLY)
def bind(path):
    socket.socket(socket.AF_UNIX).bind(path)
def inside(path, what):
    before = os.getcwd()
    os.chdir(path)
    try:
        what()
    finally:
        os.chdir(before)
def mount(what, where, kind=None, flags=4096):
    if c.mount(what.encode(), where.encode(), kind, flags, None):
        raise OSError(ctypes.get_errno(), "mount")
def outside():
    for each in os.listdir("/proc"):
        if each.isdigit() and open(f"/proc/{each}/comm").read() == "redlane-run\\n":
            return each
def hidden(data):
    c.mmap.restype = ctypes.c_void_p
    place = c.mmap(None, ctypes.c_size_t(4096), 2, 0x22, -1, ctypes.c_long(0))
    ctypes.memmove(place, data, len(data))
    return ctypes.c_void_p(place)
names = {}
for name, text in json.loads(sys.argv[2]).items():
    try:
        exec(text)
        names[name] = 0
    except OSError as error:
        names[name] = error.errno
print(json.dumps(names))
"""
BUSY = 16  # EBUSY

RACE = Path(__file__).parents[1] / "programs/exchanged_paths.c"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with what is kept, and with what is not."""
    place = tmp_path / "place"
    for each in ("own/policies/hub", "own/policies/empty", "plain", "at", "work"):
        (place / each).mkdir(parents=True)
    for each in ("own/settings", "own/policies/one", "plain/mine"):
        (place / each).write_text("as it was")
    for name, to in (("home", "own"), ("settings", "own/settings")):
        (place / f"to-{name}").symlink_to(to)
    (place / "to-policies").symlink_to("own/policies")
    for link, to in (("chain", "ways/next"), ("ways/next", "../own")):
        (place / link).parent.mkdir(exist_ok=True)
        (place / link).symlink_to(to)
    (place / "plain/hard").hardlink_to(place / "own/policies/one")
    os.mkfifo(place / "own/policies/pipe")
    return place


def _session(wrapper: Wrapper, place: Path) -> list[str]:
    """The words that start a session, up to its command."""
    program = str(wrapper.directory / "redlane-run")
    words = [program, "--socket", wrapper.environment["REDLANE_SOCKET"]]
    words += ["--session", "s"]
    for each in ("own/settings", "own/policies", "own/absent", "not/there/yet"):
        words += ["--keep", str(place / each)]
    for each in ("to-home", "chain"):
        words += ["--keep", str(place / each / "settings")]
    return [*words, "--"]


def _run(
    wrapper: Wrapper, place: Path, ways: Mapping[str, str], *before: str
) -> dict[str, int]:
    """The errno that each way ends with in one session, 0 for success."""
    words = [*_session(wrapper, place), *before]
    words += [PYTHON, "-I", "-c", INSIDER, str(place), json.dumps(ways)]
    done = subprocess.run(
        words,
        env=dict(wrapper.environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    errors: dict[str, int] = json.loads(done.stdout)
    refused = any(errors.values())
    told = done.stderr.splitlines()
    assert len(told) <= refused, "once, if there is anything to tell"
    assert all(each.startswith("redlane: refused ") for each in told)
    return errors


def _seen(place: Path) -> dict[str, tuple[int, bytes | None]]:
    """All that is kept, with its rights and what is in it."""
    return {
        str(each): (each.lstat().st_mode, each.read_bytes() if each.is_file() else None)
        for each in sorted((place / "own").rglob("*"))
    }


def test_no_call_changes_what_is_kept(wrapper: Wrapper, place: Path) -> None:
    before = _seen(place)
    assert _run(wrapper, place, WAYS) == dict.fromkeys(WAYS, REFUSED)
    assert _seen(place) == before


def test_what_changes_while_it_is_looked_at_changes_nothing(
    wrapper: Wrapper, place: Path, tmp_path: Path
) -> None:
    program = tmp_path / "race"
    words = ["cc", "-O2", "-w", "-pthread", str(RACE), "-o", str(program)]
    subprocess.run(words, check=True)
    done = subprocess.run(
        [*_session(wrapper, place), str(program), str(place)],
        env=dict(wrapper.environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0


WRITER = """\
import os, sys
for each in sys.stdin:
    try:
        os.close(os.open(f"{each.strip()}/file", os.O_WRONLY | os.O_CREAT))
        print(0, flush=True)
    except OSError as error:
        print(error.errno, flush=True)
"""


def test_what_bears_the_number_of_another_directory_is_kept(
    wrapper: Wrapper, place: Path
) -> None:
    """Directories that have been written in are remembered."""
    used, kept = place / "used", place / "own/policies/new"
    used.mkdir()
    number = used.stat().st_ino
    born = time.time()
    while int(time.time()) == int(born):
        os.sched_yield()
    session = subprocess.Popen(
        [*_session(wrapper, place), PYTHON, "-I", "-c", WRITER],
        env=dict(wrapper.environment),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert session.stdin
    assert session.stdout
    print(used, file=session.stdin, flush=True)
    assert session.stdout.readline() == "0\n"
    shutil.rmtree(used)
    kept.mkdir()
    told, _ = session.communicate(f"{kept}\n", timeout=60)
    assert kept.stat().st_ino == number, "the file system gives numbers out again"
    assert int(told) == REFUSED


def test_what_cannot_be_looked_at_fails(wrapper: Wrapper, place: Path) -> None:
    before = _seen(place)
    ways = {name: text for name, (text, _) in UNSEEN.items()}
    expected = {name: errno for name, (_, errno) in UNSEEN.items()}
    assert _run(wrapper, place, ways) == expected
    assert _seen(place) == before


def test_everything_else_goes_on(wrapper: Wrapper, place: Path) -> None:
    assert _run(wrapper, place, TWINS) == dict.fromkeys(TWINS, 0)


def _own_mounts() -> tuple[str, ...]:
    """What gives a program mounts and numbers of processes of its own."""
    unshare = ("/usr/bin/unshare", "-Urmpf")
    if subprocess.run([*unshare, "true"], check=False, capture_output=True).returncode:
        pytest.skip("NOT TESTED: no namespaces are to be had here")
    return unshare


def test_a_mount_of_its_own_gives_no_way(wrapper: Wrapper, place: Path) -> None:
    done = _run(wrapper, place, BOUND, *_own_mounts())
    assert done == dict.fromkeys(BOUND, REFUSED)


def test_what_is_covered_by_a_mount_stays(wrapper: Wrapper, place: Path) -> None:
    before = _seen(place)
    done = _run(wrapper, place, COVERED, *_own_mounts())
    assert done == dict.fromkeys(COVERED, BUSY)
    assert _seen(place) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: root mounts another")
def test_another_proc_shows_no_process_outside(wrapper: Wrapper, place: Path) -> None:
    way = """\
if c.unshare(0x20000) or c.mount(b"p", b"work", b"proc", 0, None):
    raise OSError(ctypes.get_errno(), "mount")
names["shown"] = int(os.path.exists(f"work/{os.getppid()}"))
write(f"work/{os.getppid()}/fd/2", os.O_WRONLY)
"""
    assert _run(wrapper, place, {"it": way}) == {"shown": 1, "it": REFUSED}


def test_everything_else_goes_on_there_too(wrapper: Wrapper, place: Path) -> None:
    closed = place / "own/policies/closed"
    closed.mkdir(mode=0)
    done = _run(wrapper, place, TWINS, *_own_mounts())
    assert done == dict.fromkeys(TWINS, 0)


def test_a_refusal_is_an_event(
    wrapper: Wrapper, peer: ScriptedPeer, place: Path
) -> None:
    _run(wrapper, place, {"it": "write('to-policies/new')"})
    (request,) = [each for each in peer.requests if each.startswith(b"POST")]
    assert request.startswith(b"POST /api/sessions/s/syscalls HTTP/1.1")


def test_who_reads_no_errors_hears_of_none(wrapper: Wrapper, place: Path) -> None:
    deaf = "r, w = os.pipe(); os.close(r); os.dup2(w, 2); write('own/settings')"
    assert _run(wrapper, place, {"deaf": deaf, "next": "write('own/settings')"}) == {
        "deaf": REFUSED,
        "next": REFUSED,
    }
