"""What `redlane-run --keep` keeps: no call changes it, and all the rest go on."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from system.scripted_peer import ScriptedPeer
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
REFUSED = 13  # EACCES

RACE = Path(__file__).parents[1] / "programs/exchanged_paths.c"

WAYS: Mapping[str, str] = {
    "write": "write('own/settings')",
    "append": "write('own/settings', os.O_WRONLY | os.O_APPEND)",
    "read and write": "write('own/settings', os.O_RDWR)",
    "truncate while reading": "write('own/settings', os.O_RDONLY | os.O_TRUNC)",
    "make in a directory": "write('own/policies/new')",
    "make in one below": "write('own/policies/hub/new')",
    "make what is not there yet": "write('own/absent')",
    "make what it is written as": "write('own/.settings.new')",
    "make what it is written as by chance": "write('own/.settings-a1b2')",
    "link for the way to what is not there": "os.symlink('plain', 'not')",
    "move to the way": "os.rename('plain', 'not')",
    "make what was not there": (
        "os.makedirs('not/there', exist_ok=True); write('not/there/yet')"
    ),
    "creat": "call(85, b'own/settings', 0o600)",
    "without a name": "write('own/policies', os.O_WRONLY | os.O_TMPFILE)",
    "by a directory": "write('new', dir_fd=reading('own/policies'))",
    "in the working directory": "inside('own/policies', lambda: write('new'))",
    "by dots": "inside('own/policies/hub', lambda: write('../new'))",
    "by many dots": "write('plain/../own/./policies//new')",
    "by a link": "write('to-settings')",
    "by a link to a directory": "write('to-policies/new')",
    "by a link made now": "os.symlink('own', 'l'); write('l/settings')",
    "by a dangling link": "os.symlink('own/absent', 'd'); write('d')",
    "by its open file": "write(f'/proc/self/fd/{reading(\"own/settings\")}')",
    "by /dev/fd": "write(f'/dev/fd/{reading(\"own/policies/one\")}')",
    "by its thread": "write(f'/proc/thread-self/fd/{reading(\"own/settings\")}')",
    "by its number": "write(f'/proc/{os.getpid()}/fd/{reading(\"own/settings\")}')",
    "by /proc's cwd": "inside('own/policies', lambda: write('/proc/self/cwd/new'))",
    "by /proc's net": "inside('own', lambda: write('/proc/net/../cwd/settings'))",
    "by /proc's root": "write('/proc/self/root' + os.getcwd() + '/own/settings')",
    "remove": "os.unlink('own/settings')",
    "remove by a directory": "os.unlink('one', dir_fd=reading('own/policies'))",
    "remove a directory": "os.rmdir('own/policies/empty')",
    "remove a link that leads there": "os.unlink('to-home')",
    "move": "os.rename('own/settings', 'elsewhere')",
    "move a directory": "os.rename('own/policies', 'elsewhere')",
    "move what is above": "os.rename('own', 'elsewhere')",
    "move a link that leads there": "os.rename('to-home', 'elsewhere')",
    "move over": "os.rename('plain/mine', 'own/settings')",
    "move into": "os.rename('plain/mine', 'own/policies/mine')",
    "exchange": "call(316, -100, b'plain', -100, b'own', 2)",
    "second name": "os.link('own/settings', 'second')",
    "second name by its open file": (
        "path = f'/proc/self/fd/{reading(\"own/settings\")}'.encode();"
        " call(265, -100, path, -100, b'second', 0x400)"
    ),
    "second name inside": "os.link('plain/mine', 'own/policies/mine')",
    "link inside": "os.symlink('/etc/passwd', 'own/policies/link')",
    "directory inside": "os.mkdir('own/policies/new')",
    "pipe inside": "os.mkfifo('own/policies/new')",
    "socket inside": "bind('own/policies/new')",
    "socket with a length of more bits": (
        "call(49, socket.socket(1).fileno(), b'\\1\\0own/absentXX',"
        " ctypes.c_uint64((1 << 32) + 12))"
    ),
    "socket in the working directory": "inside('own/policies', lambda: bind('new'))",
    "size": "os.truncate('own/settings', 0)",
    "rights": "os.chmod('own/settings', 0o777)",
    "rights of what is above": "os.chmod('own', 0o777)",
    "rights of its open file": "os.fchmod(reading('own/settings'), 0o777)",
    "rights of an open directory": "os.fchmod(reading('own/policies'), 0o777)",
    "rights by links to a directory": (
        "os.symlink('to-policies', 'll'); call(452, -100, b'll/', 0o777, 0x100)"
    ),
    "rights by another call": "call(452, -100, b'own/settings', 0o777, 0)",
    "owner": "os.chown('own/settings', os.getuid(), -1)",
    "owner of its open file": "os.fchown(reading('own/settings'), os.getuid(), -1)",
    "attribute": "os.setxattr('own/settings', 'user.a', b'1')",
    "attribute of its open file": (
        "os.setxattr(reading('own/settings'), 'user.a', b'1')"
    ),
    "attribute taken away": "os.removexattr('own/settings', 'user.a')",
}
UNSEEN: Mapping[str, tuple[str, int]] = {
    "path in memory that is written only": (
        "call(257, -100, hidden(b'own/settings'), 1, 0)",
        14,
    ),
    "socket in such": (
        "call(49, socket.socket(1).fileno(), hidden(b'\\1\\0own/policies/new'), 18)",
        14,
    ),
    "links with more text than a path has": (
        """\
long = "/." * 2000
for link, to in (("l1", "l2" + long), ("l2", "l3" + long), ("l3", "own")):
    os.symlink(to, link)
write("l1" + long + "/settings")
""",
        36,
    ),
    "open by what is in memory": (
        "call(437, -100, b'own/settings', (ctypes.c_uint64 * 3)(1), 24)",
        38,
    ),
    "lease on what others write": (
        "import fcntl; fcntl.fcntl(reading('own/settings'), fcntl.F_SETLEASE, 0)",
        REFUSED,
    ),
    "limit of another process": (
        "import resource; resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (0, 0))",
        1,
    ),
    "memory of a process outside": (
        "write(f'/proc/{os.getppid()}/mem', os.O_WRONLY)",
        REFUSED,
    ),
    "such memory by a descriptor": (
        """
found = os.open(f"/proc/{os.getppid()}/mem", os.O_PATH)
write(f"/proc/self/fd/{found}", os.O_WRONLY)
""",
        REFUSED,
    ),
    "files of a process outside": (
        "write(f'/proc/{os.getppid()}/fd/2', os.O_WRONLY)",
        REFUSED,
    ),
    "such files by a directory": (
        """
found = os.open(f"/proc/{os.getppid()}", os.O_PATH)
write("task/../fd/2", os.O_WRONLY, dir_fd=found)
""",
        REFUSED,
    ),
    "flags of an open file": (
        "import fcntl; fcntl.ioctl(reading('own/settings'), 0x40086602, bytes(8))",
        REFUSED,
    ),
}
"""What cannot be looked at fails, as some calls do that would reach what is kept."""

TWINS: Mapping[str, str] = {
    "write": "write('plain/new')",
    "write beside": "write('own/notes')",
    "read": "os.close(reading('own/settings'))",
    "list": "os.listdir('own/policies')",
    "nowhere": "write('/dev/null')",
    "standard output": "write('/dev/stdout', os.O_WRONLY)",
    "of the process": "write('/proc/self/comm', os.O_WRONLY)",
    "by its open file": (
        "write(f'/proc/self/fd/{reading(\"plain/mine\")}', os.O_WRONLY)"
    ),
    "temporary": "write('plain', os.O_RDWR | os.O_TMPFILE)",
    "link": "os.symlink('../own/settings', 'plain/link')",
    "remove a link that leads there": "os.unlink('plain/link')",
    "directory": "os.mkdir('plain/d')",
    "directory that is there": "os.makedirs('own/policies', exist_ok=True)",
    "move": "os.rename('plain/d', 'plain/e')",
    "remove a directory": "os.rmdir('plain/e')",
    "second name": "os.link('plain/mine', 'plain/second')",
    "size": "os.truncate('plain/second', 0)",
    "rights": "os.chmod('plain', 0o755)",
    "rights of an open file": "os.fchmod(reading('plain/second'), 0o600)",
    "socket": "bind('plain/socket')",
    "abstract socket": "bind('\\0redlane-test' + str(os.getpid()))",
    "remove": "os.unlink('plain/second')",
    "file of its own that was removed": (
        "fd = os.open('plain/gone', os.O_RDWR | os.O_CREAT); os.unlink('plain/gone');"
        " write(f'/proc/self/fd/{fd}', os.O_WRONLY)"
    ),
}
BOUND: Mapping[str, str] = {
    "overlay": """\
at = os.getcwd().encode()
options = b"userxattr,lowerdir=%b/plain,upperdir=%b/own/policies,workdir=%b/work"
if c.mount(b"o", b"at", b"overlay", 0, options % (at, at, at)):
    raise OSError(13, "there are no overlays here")
write("at/new")
""",
    "file of an overlay": "mount('at/one', 'plain/mine'); write('plain/mine')",
    "directory": "mount('own/policies', 'at'); write('at/new')",
    "directory below": "mount('own/policies/hub', 'at'); write('at/new')",
    "file": "mount('own/settings', 'plain/mine'); write('plain/mine')",
    "file below": "mount('own/policies/one', 'plain/mine'); write('plain/mine')",
    "everything": "mount('/', 'at', flags=4096 | 16384);"
    " write('at' + os.getcwd() + '/own/settings')",
    "memory of a process outside": (
        "mount(f'/proc/{outside()}/mem', 'plain/mine'); write('plain/mine', os.O_RDWR)"
    ),
    "files of a process outside": """\
mount(f"/proc/{outside()}/fd", "work")
shutil.copy("/proc/self/status", "status")
write("work/2", os.O_WRONLY)
""",
    "another root": (
        "os.chroot('at'); write('/proc/..' + sys.argv[1] + '/own/settings')"
    ),
    "root of another kind": (
        "fd = reading('.'); os.chroot('own'); write('own/../plain/../own/settings',"
        " dir_fd=fd)"
    ),
}
"""In namespaces of its own, where a program gives files other paths."""


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
    return place


def _session(wrapper: Wrapper, place: Path) -> list[str]:
    """The words that start a session, up to its command."""
    program = str(wrapper.directory / "redlane-run")
    words = [program, "--socket", wrapper.environment["REDLANE_SOCKET"]]
    words += ["--session", "s"]
    for each in ("own/settings", "own/policies", "own/absent", "not/there/yet"):
        words += ["--keep", str(place / each)]
    return [*words, "--keep", str(place / "to-home/settings"), "--"]


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
