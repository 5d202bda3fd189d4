"""What `redlane-run --writable` leaves open: files are changed there and nowhere else.

Tables are of statements, two blanks between them; `@` is each of some directories.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from errno import EACCES, EEXIST, EISDIR, ENOENT
from pathlib import Path
from socket import socket
from subprocess import PIPE, Popen, run
from typing import Any

import pytest
from system import scripted_peer
from system.scripted_peer import ScriptedPeer, peer_at
from system.wrapper_programs import Wrapper

INSIDER = """\
import ctypes, json, os, socket, sys
from os import *
os.chdir(sys.argv[1])
c = ctypes.CDLL(None, use_errno=True)
here, uid, W, RW, MADE = getcwd(), getuid(), O_WRONLY, O_RDWR, O_CREAT | O_EXCL
def call(number, *words):
    words = [each.encode() if type(each) is str else each for each in words]
    if c.syscall(number, *words) < 0: raise OSError(ctypes.get_errno(), "")
def swap(one, other): call(316, -100, one, -100, other, 2)
def mount(what, at, kind="", do=4096, data=""): call(165, what, at, kind, do, data)
def write(path, flags=W | O_CREAT, **at): close(os.open(path, flags, 0o666, **at))
def reading(path, flags=O_RDONLY): return os.open(path, flags)
def own(file): return f"/proc/self/fd/{file}"
def nameless(path): return own(os.open(path, RW | O_TMPFILE))
def bind(path): socket.socket(socket.AF_UNIX).bind(path)
def error_of(what):
    try: what()
    except OSError as error: return error.errno
    return 0
def child(what, start=os.fork):
    pid = start()
    if not pid: os._exit(error_of(what))
    if error := waitstatus_to_exitcode(waitpid(pid, 0)[1]): raise OSError(error, "")
def inside(path, what): child(lambda: [chdir(path), what()])
LAYERS = "lowerdir=out,upperdir=in/top,workdir=in/way"
def overlay(at):
    if error_of(lambda: mount("o", at, "overlay", 0, LAYERS)): raise OSError(13, "")
ways = json.loads(sys.argv[2])
errors = {each: error_of(lambda: exec(each, globals())) for each in ways}
print(json.dumps(errors), flush=True)
sys.stdin.read()
"""
CLOSED = "closed in/closed  closed in/way/closed  closed in/gone/closed"
PLACES = "writable in  writable in/closed/open  writable out/one"
PLACES += f"  writable new/place/file  {CLOSED}  top in/top  top in/lone"

CHANGES = """
write('@/file', W)  write('@/file', RW)  write('@/file', W | O_APPEND)
write('@/file', O_RDONLY | O_TRUNC)  truncate('@/file', 5)  call(85, '@/file', 0o600)
write('@/new')  write('@/new0', O_RDONLY | O_CREAT)  write('@/new1', RW | MADE)
write('new2', dir_fd=reading('@'))  inside('@', lambda: write('new3'))
inside(reading('@'), lambda: write('/proc/self/cwd/new4'))  child(lambda: write('@/5'))
write(own(reading('@')) + '/new6')  write(f'/proc/self/root{here}/@/new7')
write(own(reading('@/file')), W)  write('/dev/fd/%d' % reading('@/file'), RW)
write(own(reading('@/file', O_PATH)), W)  write(nameless('@'), W)
mkdir('@/8')  mkdir('9', dir_fd=reading('@'))  mkfifo('@/10')  mknod('@/11')
symlink('file', '@/12')  link('@/file', '@/13')  bind('@/17')
symlink('../14', '@/dir/to'); write('@/dir/to')
call(265, -100, own(reading('@/file')), -100, '@/15', 0x400)
call(265, -100, nameless('@'), -100, '@/16', 0x400)
inside('@', lambda: bind('18'))  chmod(own(reading('@/file', O_PATH)), 0o600)
chmod('@/file', 0o600)  chmod('file', 0o600, dir_fd=reading('@'))
fchmod(reading('@/file'), 0o644)  fchmod(reading('@/dir'), 0o755)
chown('@/file', uid, -1)  lchown('@/link', uid, -1)  fchown(reading('@/file'), uid, -1)
setxattr('@/file', 'user.b', b'')  setxattr(reading('@/file'), 'user.b', b'')
removexattr('@/file', 'user.a')  removexattr(reading('@/dir'), 'user.a')
utime('@/file')  utime('file', (1, 1), dir_fd=reading('@'))  utime(reading('@/file'))
utime('@/link', follow_symlinks=False)  call(132, '@/file', None)
call(235, '@/file', None)  call(261, -100, '@/file', None)
rename('@/link', '@/link2')  swap('@/file', '@/file2')
unlink('file2', dir_fd=reading('@'))  unlink('@/file')  rmdir('@/empty')
"""
HELD = ("in", "in/closed/open", "out/to-in/dir", "in/../in/top", "in/to-out/to-in/at")
LEFT = ("out", "in/closed", "in/to-out/at", "in/../out/dir", "out/to-in/../inner")
LINKS = {"in/to-file": "../out/file", "in/to-out": "../out", "out/to-in": "../in"}

ACROSS = """
write('other')  write('out/one.new')  write('in/way/closed')
chmod('in/closed', 0o700)  chmod('out', 0o700)  write('in/to-file')
write('../out/new', dir_fd=reading('in'))  chmod('in/to-file', 0o600)
symlink('../out/new', 'in/dangling'); write('in/dangling')
call(265, -100, nameless('in'), -100, 'out/new', 0x400)
call(265, -100, own(reading('out/file')), -100, 'in/new', 0x400)
link('in/file', 'out/new')  link('out/file', 'in/new')  link('in/closed/file', 'in/new')
rename('in/file', 'out/3')  rename('in/file', 'out/file')  rename('out/file', 'in/new')
rename('in/closed/file', 'in/new')  rename('in/closed/open/file', 'in/closed/new')
swap('in/file', 'out/file')  call(452, -100, 'out/file', 0o600, 0)
"""
LEADING = """
rename('in/way', 'in/moved')  rmdir('in/way')  rename('in/empty', 'in/way')
swap('in/way', 'in/dir')  swap('in/dir', 'in/way')  swap('in/dir', 'in/top')
symlink('dir', 'in/gone')  rename('in/dir', 'in/gone')  rename('in', 'inner/in')
rename('in/closed', 'in/moved')  rename('out', 'in/moved')  rmdir('in/lone')
rename('in/top', 'in/moved')
"""
GIVEN = """
write('out/one'); unlink('out/one'); write('out/one')  mkdir('in/gone')
makedirs('new/place'); write('new/place/file')  rename('in/new', 'in/closed/open/to')
symlink('../out/file', 'in/link3'); unlink('in/link3')
fd = reading('in/new1', RW); unlink('in/new1'); write(own(fd), RW); fchmod(fd, 0o600)
"""
NO_CHANGE = """
os.read(reading('out/file'), 9); listdir('out'); readlink('out/to-in')
os.read(reading('in/closed/file'), 9)  bind('\\0redlane-places-%d' % getpid())
write('out/file', O_RDONLY | O_CREAT)  write('out/file', O_PATH | RW)
makedirs('out/dir', exist_ok=True)  write(ttyname(openpty()[1]), RW | O_NOCTTY)
write('/dev/null')  write('/dev/zero', RW)  write('/dev/ptmx', RW | O_NOCTTY)
child(lambda: write('/dev/tty', RW), lambda: forkpty()[0])  write('/dev/stdout', W)
write('/proc/self/comm', W)  write('/proc/thread-self/comm', W)
r, w = pipe(); write(own(w), W); write(own(r), RW)  getxattr('out/file', 'user.a')
fd = memfd_create('m'); write(own(fd), RW | O_TRUNC); fchmod(fd, 0o600)
"""
VAIN: Mapping[int, str] = {
    EEXIST: "mkdir('out/dir')  mkfifo('out/file')  symlink('dir', 'out/to-in')  "
    "link('in/file', 'out/file')  write('out/file', RW | MADE)",
    ENOENT: "unlink('out/none')  rmdir('out/none')  truncate('out/none', 0)  "
    "chmod('out/none', 0o600)  write('out/none', W)  write('out/none/new')  "
    "rename('in/none', 'out/x')  link('in/none', 'out/x')",
    EISDIR: "write('out/dir', W)  write('out/dir')",
}
BOUND = """
mount('out', 'in/at'); write('in/at/new')  chmod('in/at/file', 0o600)
mount('out/file', 'in/file'); write('in/file')
mount('in/closed', 'in/dir'); write('in/dir/new')
mount('in/at', 'in/empty', '', 8192); write('in/empty/file')
mount('/', 'in/at', '', 4096 | 16384); write(f'in/at{here}/out/new')
fd = reading('out'); chroot('in'); write('new', dir_fd=fd)
"""
OVERLAID = """
overlay('in/lone'); write('in/lone/new')  overlay('out/dir'); chmod('out/dir/file', 0)
"""
UNBOUND = """
mount('in/dir', 'out/dir'); write('out/dir/new'); chmod('out/dir/new', 0o600)
utime('out/dir/new'); unlink('out/dir/new')
mount('t', 'out/at', 'tmpfs', 0); write('out/at/new'); mkdir('out/at/d')
rename('out/at/new', 'out/at/d/new'); symlink('d', 'out/at/l'); utime('out/at/l/new')
bind('out/at/s'); unlink('out/at/s'); unlink('out/at/d/new'); rmdir('out/at/d')
"""


@dataclass
class Daemon(ScriptedPeer):
    """It keeps events, and says one of `further` after another, the last again."""

    further: list[bytes] = field(default_factory=lambda: [b""])
    events: list[dict[str, Any]] = field(default_factory=list)

    def serve_control(self, connection: socket) -> None:
        stream = connection.makefile("rb")
        head = b"".join(iter(stream.readline, b"\r\n")).lower()
        self.requests.append(head)
        answer = b""
        if head.startswith(b"post /api/sessions/s/syscalls "):
            length = int(head.partition(b"content-length:")[2].split()[0])
            self.events += json.loads(stream.read(length))["events"]
        if head.startswith(b"get /api/sessions/s/allowed "):
            answer = self.further.pop(0) if self.further[1:] else self.further[0]
        kind = b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"
        connection.sendall(kind + b"Content-Length: %d\r\n\r\n" % len(answer) + answer)


@dataclass(frozen=True)
class Sessions:
    """Sessions that are held to places, in a directory that has them."""

    wrapper: Wrapper
    place: Path

    def __call__(self, text: str, *before: str, options: str = PLACES) -> Popen[str]:
        """One that makes each statement of `text`, and tells of them."""
        program = str(self.wrapper.directory / "redlane-run")
        env = self.wrapper.environment
        words = [program, "--socket", env["REDLANE_SOCKET"], "--session", "s"]
        for each in options.split("  "):
            option, _, path = each.partition(" ")
            words += [f"--{option}", str(self.place / path) if path else ""]
        words += ["--", *before, "/usr/bin/python3", "-I", "-B", "-c", INSIDER]
        words += [str(self.place), json.dumps(re.split(r"\n|  +", text.strip()))]
        return Popen(words, env=env, stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True)

    def others(self, error: int, text: str, *before: str, **more: Any) -> list[str]:
        """The statements that end with another errno, 0 for success, and with which."""
        with self(text, *before, **more) as process:
            out, _ = process.communicate(timeout=120)
        errors = json.loads(out).items()
        return [f"{name}: {other}" for name, other in errors if other != error]


@pytest.fixture
def peer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedPeer]:
    """A daemon that keeps events."""
    monkeypatch.setattr(scripted_peer, "ScriptedPeer", Daemon)
    with peer_at(tmp_path / "control.sock") as made:
        yield made


@pytest.fixture
def sessions(wrapper: Wrapper, tmp_path: Path) -> Sessions:
    """What they find: directories that are alike, and links from one to another."""
    place = tmp_path.resolve() / "place"
    for each in ("in/way", "in/lone", "out"):
        (place / each).mkdir(parents=True)
    for link, to in LINKS.items():
        (place / link).symlink_to(to)
    for each in (*HELD, *LEFT):
        for name in ("dir", "empty"):
            (place / each / name).mkdir(parents=True, exist_ok=True)
        for name in ("file", "file2"):
            (place / each / name).write_text("as it was")
        (place / each / "link").symlink_to("file")
        for name in ("dir", "file"):
            os.setxattr(place / each / name, "user.a", b"")
    (place / "out/one").touch()
    return Sessions(wrapper, place)


def _at(*directories: str) -> str:
    return "".join(CHANGES.rstrip().replace("@", each) for each in directories)


@pytest.fixture
def untouched(sessions: Sessions) -> Iterator[None]:
    """What is not to be changed, nor a name made there."""
    tops = [sessions.place / each for each in LEFT[:2]]
    found = [sessions.place, *tops, *(each for top in tops for each in top.rglob("*"))]
    before = [each.lstat().st_ctime_ns for each in found]
    yield
    assert [each.lstat().st_ctime_ns for each in found] == before


def test_files_are_changed_in_places(sessions: Sessions) -> None:
    assert sessions.others(0, _at(*HELD) + GIVEN) == []


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize("text", [_at(*LEFT), ACROSS, LEADING])
def test_what_is_elsewhere_stays_as_it_is(sessions: Sessions, text: str) -> None:
    assert sessions.others(EACCES, text) == []


@pytest.mark.usefixtures("untouched")
def test_an_empty_word_names_no_place(sessions: Sessions) -> None:
    none = "writable "
    assert sessions.others(EACCES, _at("in", "out"), options=none) == []
    assert sessions.others(0, NO_CHANGE, options=none) == []


def test_who_names_no_place_holds_nothing(sessions: Sessions) -> None:
    assert sessions.others(0, _at("in", "out"), options=CLOSED) == []


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize("error", VAIN)
def test_what_would_fail_fails_as_it_would(sessions: Sessions, error: int) -> None:
    assert sessions.others(error, VAIN[error]) == []


def test_what_a_user_may_not_fails_as_it_would(sessions: Sessions) -> None:
    ways = "uid or seteuid(65534); write('/etc/passwd', W)  write('/etc/redlane-new')"
    assert sessions.others(EACCES, ways) == []


def test_settings_and_disks_are_files(sessions: Sessions) -> None:
    known = [each for each in Path("/dev").iterdir() if each.is_block_device()][:1]
    known += Path("/proc/sys/vm").glob("swap*")
    known += Path("/sys/kernel/mm").glob("*/enabled")
    ways = [f"write('{each}', W)" for each in known if os.access(each, os.W_OK)]
    if not ways:
        pytest.skip("NOT TESTED: this user may write to none")
    assert sessions.others(EACCES, "  ".join(ways)) == []


@pytest.mark.usefixtures("untouched")
def test_mounts_of_its_own_give_no_way_and_take_none(sessions: Sessions) -> None:
    own = ("/usr/bin/unshare", "-Urm")
    if run([*own, "true"], check=False, capture_output=True).returncode:
        pytest.skip("NOT TESTED: no namespaces are to be had here")
    assert sessions.others(EACCES, BOUND, *own) == []
    assert sessions.others(EACCES, OVERLAID, *own) == [], "the daemon's may be hidden"
    assert sessions.others(0, UNBOUND, *own) == []


def test_a_refusal_is_told_at_once(sessions: Sessions, peer: Daemon) -> None:
    with sessions("write('out/to-in/../new')") as process:
        assert next(iter(process.stdout or ()))
        (event,) = peer.events
        process.communicate(timeout=60)
    assert (event["verdict"], event["policy"]) == ("BLOCK", "builtin:writable")
    assert event["call"]["paths"] == [str(sessions.place / "new")]


def test_many_refusals_are_counted(sessions: Sessions, peer: Daemon) -> None:
    many = "for _ in range(1000): error_of(lambda: write('out/new'))"
    with sessions(f"{many}  child(lambda: write('out/new'))") as process:
        _, told = process.communicate(timeout=120)
    assert sum(each["count"] for each in peer.events) == 1001
    assert len(peer.events) < 100
    assert told.count("(builtin:writable)") == 2, "each process is told once"


def test_the_daemons_files_come_first(sessions: Sessions, peer: Daemon) -> None:
    options = f"{PLACES}  keep in/at  keep out/file"
    ways = "write('in/at/new')  write('out/file')  rename('out/file', 'in/new')"
    assert sessions.others(EACCES, ways, options=options) == []
    assert {each["policy"] for each in peer.events} == {"builtin:own-files"}
    assert sessions.others(EACCES, "write('out/new')", options=options) == []
    assert sessions.others(0, "write('in/new')", options=options) == []


def test_a_person_widens_a_session(sessions: Sessions, peer: Daemon) -> None:
    asked = b"get /api/sessions/s/allowed "
    assert sessions.others(0, "write('in/new')") == []
    assert not [each for each in peer.requests if each.startswith(asked)]
    more = [f"{sessions.place / each}\0".encode() for each in ("out/dir", "out/file")]
    peer.further = [b"", b"".join(more)]
    ways = "while error_of(lambda: write('out/dir/new')): pass  unlink('out/file')"
    written = "write('out/x')"
    assert sessions.others(0, f"{ways}  {written}") == [f"{written}: {EACCES}"]
