"""A session whose system calls are judged neither hangs nor outlives its judges."""

import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from attack.call_attacks import SECRET, guarded_secret
from spec.control_client import peer_pid
from spec.redlane_home import wait_for
from supervised import PEOPLE, Guarded, person_named

PYTHON = ("/usr/bin/python3", "-I", "-c")
SILENT = Path(__file__).with_name("fuse_silent.py")


@pytest.fixture(scope="module", params=PEOPLE)
def place(request: pytest.FixtureRequest) -> Iterator[Guarded]:
    with guarded_secret(person_named(request.param)) as made:
        yield made


@pytest.fixture
def own(request: pytest.FixtureRequest) -> Iterator[Guarded]:
    """A place of one test's own, whose daemon it may kill."""
    name = getattr(request, "param", "user" if os.getuid() else "root")
    with guarded_secret(person_named(name)) as made:
        made.home.settings(sevsh={"validation_timeout_seconds": 2})
        made.stop()
        made.start()
        yield made


def _gone(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True
    return stat.rpartition(")")[2].split()[0] in "ZX"


def _child_of(pid: int) -> int:
    """The only child of a process."""

    def found() -> int:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return int(children[0]) if children else 0

    return wait_for(found)


TREE = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
if not os.fork():
    os.setsid()
    if os.fork():
        os._exit(0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(os.getpid(), flush=True)
while True:
    time.sleep(0.01)
    try:
        open("/dev/null").close()
    except OSError:  # nobody answers for the call: soon the session ends
        pass
"""
"""Two processes, one of them an orphan, which nothing but SIGKILL ends."""


@contextmanager
def _tree(place: Guarded) -> Iterator[tuple["subprocess.Popen[str]", list[int]]]:
    with place.running(*PYTHON, TREE, role="guarded") as process:
        assert process.stdout is not None
        yield process, [int(process.stdout.readline()) for _ in range(2)]


def _supervisor(process: "subprocess.Popen[str]") -> int:
    """S: the process that was started, once it is the supervisor of the session."""
    pid = process.pid

    def found() -> int:
        name = Path(f"/proc/{pid}/comm").read_text().strip()
        return pid if name == "redlane-run" else 0

    return wait_for(found)


@pytest.mark.parametrize("who", ["judge", "runner"])
def test_session_whose_supervisor_is_killed_ends_at_once(
    place: Guarded, who: str
) -> None:
    with _tree(place) as (process, pids):
        judge = _supervisor(process)
        killed = judge if who == "judge" else _child_of(judge)

        os.kill(killed, signal.SIGKILL)

        wait_for(lambda: all(map(_gone, pids)))
        _, said = process.communicate(timeout=20)
    lines = [each for each in said.splitlines() if each.startswith("redlane: ")]
    assert len(lines) == 1, said
    assert process.returncode != 0


READER = """
import sys, time
for line in sys.stdin:
    started = time.monotonic()
    try:
        print(open(line.strip()).read(), flush=True)
    except OSError as error:
        print("errno", error.errno, flush=True)
"""


def _ask(process: "subprocess.Popen[str]", path: Path | str) -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{path}\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


def test_nothing_is_allowed_that_no_daemon_answers_for(own: Guarded) -> None:
    public = own.work / "open" / "public"
    with own.running(*PYTHON, READER, role="guarded") as process:
        assert _ask(process, public) == "for everybody"
        assert _ask(process, own.work / SECRET) == "errno 1"
        pid = peer_pid(own.home.control.socket)
        assert pid is not None

        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: _gone(pid))

        assert _ask(process, own.work / SECRET) == "errno 1"
        wait_for(lambda: _ask(process, public) == "errno 1", seconds=30)


FIFOS = """
import os, sys, threading, time
os.chdir(sys.argv[1])
count = int(sys.argv[2])
for number in range(count):
    os.mkfifo(f"fifo{number}")
opened = []
def wait(number):
    with open(f"fifo{number}") as file:
        opened.append(file.read())
threads = [threading.Thread(target=wait, args=(n,)) for n in range(count)]
for each in threads:
    each.start()
started = time.monotonic()
for _ in range(100):
    assert open("open/public").read() == "for everybody"
print("read", time.monotonic() - started < 20)
for number in range(count):
    with open(f"fifo{number}", "w") as file:
        file.write("x")
for each in threads:
    each.join()
print(len(opened), set(opened))
for number in range(count):
    os.unlink(f"fifo{number}")
"""


def test_threads_that_wait_for_pipes_hold_up_nobody(place: Guarded) -> None:
    ran = place.supervised(*PYTHON, FIFOS, place.work, "300", role="guarded")

    assert (ran.code, ran.out) == (0, "read True\n300 {'x'}\n"), ran


KILLED_IN_FIFO = """
import os, signal, sys, time
os.chdir(sys.argv[1])
os.mkfifo("fifo")
pids = []
for _ in range(40):
    pid = os.fork()
    if not pid:
        open("fifo")
        os._exit(0)
    pids.append(pid)
time.sleep(0.5)
for pid in pids[:20]:
    os.kill(pid, signal.SIGKILL)
for pid in pids[:20]:
    assert os.waitpid(pid, 0)[1] == 9
number = os.open("fifo", os.O_WRONLY)
for pid in pids[20:]:
    assert os.waitpid(pid, 0)[1] == 0
os.unlink("fifo")
print("all ended")
"""


def test_processes_that_wait_for_pipes_can_be_killed(place: Guarded) -> None:
    words = (*PYTHON, KILLED_IN_FIFO, place.work)
    alone = place.alone(*words)
    assert alone.out == "all ended\n", alone

    assert place.supervised(*words, role="guarded") == alone


CAUGHT_IN_FIFO = """
import os, signal, sys, time
os.chdir(sys.argv[1])
os.mkfifo("fifo")
ready, tell = os.pipe()
pid = os.fork()
if not pid:
    signal.signal(signal.SIGUSR1, lambda *_: os._exit(7))
    os.write(tell, b"x")
    open("fifo")
os.read(ready, 1)
while open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0] == "R":
    time.sleep(0.01)
os.kill(pid, signal.SIGUSR1)
print("signal", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
os.unlink("fifo")
"""


def test_signal_that_is_caught_ends_waiting_for_a_pipe(own: Guarded) -> None:
    words = (*PYTHON, CAUGHT_IN_FIFO, own.work)
    alone = own.alone(*words)
    assert alone.out == "signal 7\n", alone

    assert own.supervised(*words, role="guarded") == alone


@pytest.fixture
def silent(tmp_path: Path) -> Iterator[tuple[Path, Callable[[], None]]]:
    """A file system that does not answer, as one of a network may, and its end.

    Whoever waits for it cannot even be killed before it ends.
    """
    if os.getuid() or not Path("/dev/fuse").exists():
        pytest.skip("NOT TESTED: mounting a file system needs root and /dev/fuse")
    for each in (tmp_path, *tmp_path.parents):
        if Path(tempfile.gettempdir()) in each.parents:
            each.chmod(0o755)
    with subprocess.Popen(
        [sys.executable, SILENT, tmp_path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout is not None
        try:
            if server.stdout.readline() != "ready\n":
                pytest.skip("NOT TESTED: no file system can be mounted")
            yield tmp_path, server.kill
        finally:
            server.kill()
            subprocess.run(["umount", "--lazy", tmp_path], check=False)


STALL = """
import ctypes, mmap, os, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
silent, public, way = sys.argv[1:]
if not os.fork():
    time.sleep(0.5)
    started = time.monotonic()
    for _ in range(50):
        open(public).close()
    print("read", time.monotonic() - started < 20, flush=True)
    os._exit(0)
def opens():
    open(silent + "/silent").read()
slow = open(silent + "/slow", "rb") if way == "memory" else None
memory = mmap.mmap(slow.fileno(), 4096, mmap.MAP_PRIVATE) if slow else None
def points():
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    libc.syscall(257, -100, ctypes.c_long(address), 0)
for _ in range(30):
    target = points if way == "memory" else opens
    threading.Thread(target=target, daemon=True).start()
os.wait()
os._exit(0)
"""


@pytest.mark.parametrize(
    "way", ["open", pytest.param("memory", marks=pytest.mark.slow)]
)
def test_file_system_that_does_not_answer_holds_up_nobody_else(
    place: Guarded, silent: tuple[Path, Callable[[], None]], way: str
) -> None:
    point, end = silent
    public = place.work / "open" / "public"
    with place.running(*PYTHON, STALL, point, public, way, role="guarded") as process:
        assert process.stdout is not None
        try:
            ready = select.select([process.stdout], [], [], 60)[0]
        finally:
            end()
        assert ready
        assert process.stdout.readline() == "read True\n"
        process.communicate(timeout=20)


FAULT = """
import ctypes, mmap, os, struct, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
import fcntl
number = libc.syscall(323, 1 | os.O_CLOEXEC)
if number < 0:
    print("read True")
    sys.exit(0)
fcntl.ioctl(number, 0xC018AA3F, bytearray(struct.pack("QQQ", 0xAA, 0, 0)))
memory = mmap.mmap(-1, 4096)
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
fcntl.ioctl(number, 0xC020AA00, bytearray(struct.pack("QQQQ", address, 4096, 1, 0)))
def stall():
    libc.syscall(257, -100, ctypes.c_long(address), 0)
threading.Thread(target=stall, daemon=True).start()
time.sleep(0.3)
for _ in range(20):
    open(sys.argv[1]).close()
print("read True", flush=True)
os._exit(0)
"""


def test_memory_that_faults_for_ever_holds_up_nobody(place: Guarded) -> None:
    ran = place.supervised(
        *PYTHON, FAULT, place.work / "open" / "public", role="guarded"
    )

    assert (ran.code, ran.out) == (0, "read True\n"), ran


SIGNAL_ALL = """
import os, signal, sys, time
target, number, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
if not os.fork():
    time.sleep(100)
try:
    os.kill(target, number)
except OSError as error:
    print("errno", error.errno, flush=True)
try:
    print(open(path).read(), flush=True)
except OSError as error:
    print("errno", error.errno, flush=True)
"""


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGKILL,
        pytest.param(signal.SIGSTOP, marks=pytest.mark.slow),
        signal.SIGTERM,
    ],
)
@pytest.mark.parametrize("target", [-1, 0])
def test_signal_to_everybody_leaves_nobody_unguarded(
    place: Guarded, target: int, number: int
) -> None:
    if target == -1 and place.person.uid is None:
        pytest.skip("NOT TESTED: a signal to all that whoever runs the tests has")
    pid = peer_pid(place.home.control.socket)
    words = (*PYTHON, SIGNAL_ALL, str(target), str(number), place.work / SECRET)
    deadline = 8 if number == signal.SIGSTOP else 60  # who is stopped does not end
    try:
        ran = place.supervised(*words, role="guarded", deadline=deadline)
        said = ran.out
        assert ran.code != 0 or "errno 1" in said, ran
    except subprocess.TimeoutExpired as stopped:
        assert number == signal.SIGSTOP
        said = (stopped.output or b"").decode()

    assert "what nobody" not in said
    assert peer_pid(place.home.control.socket) == pid


@pytest.mark.skipif(not shutil.which("bwrap"), reason="NOT TESTED: THERE IS NO bwrap")
def test_sandbox_in_new_namespaces_is_refused_and_told(place: Guarded) -> None:
    sandbox = ("bwrap", "--bind", "/", "/", "--dev", "/dev", "--unshare-user")
    words = (*sandbox, "/bin/cat", place.work / SECRET)
    assert "what nobody" in place.alone(*words).out

    ran = place.supervised(*words, role="guarded")

    assert ran.code != 0
    assert "what nobody" not in ran.out
