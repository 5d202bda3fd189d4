"""Sockets are connected by `redlane-run`, to what was judged and to nothing else.

What listens outside where `--unreachable` says is out of reach, by whatever way; what
else is done is done as alone.
"""

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from system.hidden_ground import OWN_MOUNTS, PRELUDE, PYTHON, Ground, said_twice

ALIKE: Mapping[str, str] = {
    "what fails": """
print([tried(s.connect, a) for a in ("none", "f", "d", "d/none", "x" * 107)])
made("f"); os.mkdir("d"); os.symlink("loop", "loop"); os.mkdir("closed", 0)
ways = "f", "d", "f/x", "loop", "d/", "closed/x", ""
print([tried(unix().connect, each) for each in ways])
print(raw(99, b"\\1\\0f"), raw(0, b"\\1\\0f"), raw(s.fileno(), b"\\1\\0f", 200))
print(raw(s.fileno(), b"\\1\\0f", -1), raw(s.fileno(), b"", 0))
print(raw(s.fileno(), b"\\1", 1), raw(s.fileno(), b"\\2\\0" + b"f" * 20))
print(raw(s.fileno(), None, 9))
""",
    "what listens at a path": """
l = listening("l"); os.symlink("l", "link"); os.mkdir("d"); os.symlink("../l", "d/up")
for way in ("l", "./l", os.path.abspath("l"), "link", "d/up", "d/../l"):
    s = unix(); print(tried(s.connect, way), s.getpeername(), s.getsockname())
    o, who = l.accept(); s.send(b"to"); o.send(b"fro"); print(o.recv(9), s.recv(9))
    print(repr(who), tried(s.connect, way))
os.chdir("d"); s = unix(); print(tried(s.connect, "up"), s.getpeername())
d = os.open(".", R); s = unix(); print(tried(s.connect, f"/proc/self/fd/{d}/up"))
print(tried(unix().connect, "../l/")); l.close(); print(tried(unix().connect, "../l"))
""",
    "who may not": """
l = listening("l"); os.chmod("l", 0); print(os.getuid() and tried(unix().connect, "l"))
""",
    "every kind": """
q = listening("q", socket.SOCK_SEQPACKET); g = unix(socket.SOCK_DGRAM); g.bind("g")
s = unix(socket.SOCK_SEQPACKET)
print(tried(s.connect, "q"), tried(unix().connect, "q"))
s = unix(socket.SOCK_DGRAM); print(tried(s.connect, "g"), s.send(b"some"), g.recv(9))
print(tried(s.connect, "q"), tried(unix().connect, "g"), raw(s.fileno(), b"\\0\\0", 2))
a, b = socket.socketpair(); print(tried(a.connect, "q"))
""",
    "names without a path": """
l = unix(); l.bind("\\0redlane-test-%d" % os.getpid()); l.listen(0); s = unix()
s.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1); s.settimeout(9)
print(tried(s.connect, l.getsockname()), s.getpeername() == l.getsockname())
s.send(b"some"); print(l.accept()[0].recv(9), s.gettimeout())
print(s.getsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED))
print(tried(unix().connect, "\\0redlane-test-none"), tried(s.connect, l.getsockname()))
""",
    "a full queue": """
l = listening("l", backlog=0); unix().connect("l"); kept = []
def fill():
    while True:
        s = unix(); s.setblocking(False); kept.append(s); s.connect("l")
print(tried(fill)); s = unix()
s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, bytes(8) + b"\\1" + bytes(7))
print(tried(s.connect, "l"), s.getsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, 16))
waiting = unix()
one = threading.Thread(target=lambda: print(tried(waiting.connect, "l"))); one.start()
l.accept(); l.accept(); one.join()
""",
    "a signal": """
l = listening("l", backlog=0); unix().connect("l"); kept = []
def fill():
    while True:
        s = unix(); s.setblocking(False); kept.append(s); s.connect("l")
tried(fill)
def told(*_): raise InterruptedError(errno.EINTR, "told")
signal.signal(signal.SIGALRM, told); signal_waiting(os.getpid())
print(tried(unix().connect, "l"))
""",
    "a signal whose handler restarts calls": """
l = listening("l", backlog=0); unix().connect("l"); kept = []
def fill():
    while True:
        s = unix(); s.setblocking(False); kept.append(s); s.connect("l")
tried(fill); heard, told = os.pipe(); os.set_blocking(told, False)
signal.set_wakeup_fd(told); signal.signal(signal.SIGALRM, lambda *_: None)
if not os.fork():
    for _ in range(2): os.read(heard, 1); l.accept()
    os._exit(0)
for restarts in (True, False):
    signal.siginterrupt(signal.SIGALRM, not restarts)
    signal_waiting(os.getpid()); s = unix()
    print(restarts, raw(s.fileno(), b"\\1\\0l"))
for _ in range(3): os.wait()
""",
    "the network": """
l = socket.socket(); l.bind(("127.0.0.1", 0)); l.listen(); at = l.getsockname()
s = socket.socket(); print(tried(s.connect, at), s.getpeername() == at)
o, who = l.accept(); print(who == s.getsockname(), tried(s.connect, at))
o.send(b"some"); print(s.recv(9)); l.close(); print(tried(socket.socket().connect, at))
s = socket.socket(); s.setblocking(False)
print(tried(s.connect, at) in ("EINPROGRESS", "ECONNREFUSED"))
u = socket.socket(type=socket.SOCK_DGRAM); u.bind(("127.0.0.1", 0))
v = socket.socket(type=socket.SOCK_DGRAM); print(tried(v.connect, u.getsockname()))
v.send(b"some"); print(u.recv(9), raw(v.fileno(), bytes(16)), tried(v.getpeername))
print(tried(socket.socket(socket.AF_INET6).connect, ("::1", 1)))
print(raw(socket.socket().fileno(), b"\\1\\0f"), raw(unix().fileno(), bytes(16)))
n = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
print(tried(n.connect, (0, 0)), n.getsockname()[0] == os.getpid())
""",
}
"""Programs that say the same held as alone."""

SOCKETS = """
def unix(kind=socket.SOCK_STREAM): return socket.socket(socket.AF_UNIX, kind)
def signal_waiting(pid, looks=100):  # from a child, once it has waited for so many
    if os.fork(): return
    left = looks
    while left:
        state = text(f"/proc/{pid}/stat", 999).rpartition(b")")[2].split()[0].decode()
        left = left - 1 if state in "SD" else looks
    os.kill(pid, signal.SIGALRM); os._exit(0)
def listening(path, kind=socket.SOCK_STREAM, backlog=9):
    one = unix(kind); one.bind(path); one.listen(backlog); return one
def raw(file, data, length=None):
    value = c.connect(file, data, len(data or b"") if length is None else length)
    return value if value >= 0 else errno.errorcode[ctypes.get_errno()]
s = unix()
"""

WAYS: Mapping[str, str] = {
    "by its path": "print(tried(unix().connect, '@'))",
    "by another way there": """
os.chdir(os.path.dirname('@')); name = os.path.basename('@')
print(tried(unix().connect, name), tried(unix().connect, "../outside/" + name))
os.symlink('@', "link"); print(tried(unix().connect, "link")); os.unlink("link")
""",
    "by a descriptor": """
file = os.open('@', os.O_PATH); print(tried(unix().connect, f"/proc/self/fd/{file}"))
""",
    "without waiting": """
s = unix(); s.setblocking(False); print(tried(s.connect, '@'))
""",
    "by a second name": """
r = tried(os.link, "@", "second"); print("EACCES" if r == "EPERM" else r)
if os.path.exists("second"): print(tried(unix().connect, "second"))
""",
    "in another place": """
r = tried(os.rename, "@", "moved"); print("EACCES" if r == "EPERM" else r)
if os.path.exists("moved"): print(tried(unix().connect, "moved"))
""",
    "in a child": "child(lambda: print(tried(unix().connect, '@')))",
    "under another name": """
import shutil; shutil.copy(sys.executable, "cat")
attempt = "import socket\\ntry: socket.socket(1).connect('@'); print(None)\\n"
words = ["./cat", "-c", f"{attempt}except OSError: print('EACCES')"]
print(subprocess.run(words, capture_output=True, text=True).stdout)
""",
}
"""Programs that print for each attempt None, or the error."""

RACE = """
import time
address = ctypes.create_string_buffer(110)
free, taken = b"\\1\\0@free\\0", b"\\1\\0@taken\\0"
ours, theirs = unix(), socket.socket(); number = os.dup(theirs.fileno())
ends = time.monotonic() + 3
def swap():
    while time.monotonic() < ends:
        for each, file in ((taken, theirs), (free, ours)):
            ctypes.memmove(address, each, len(each))
            tried(os.dup2, file.fileno(), number)
others = [threading.Thread(target=swap) for _ in range(2)]
for each in others: each.start()
tries = 0
while time.monotonic() < ends:
    tries += 1
    ours = unix(); ours.setblocking(False); os.dup2(ours.fileno(), number)
    c.connect(number, address, 110); tried(os.write, number, b"x")
for each in others: each.join()
print(tries > 9)
"""

OWN = """
os.unlink('@taken')
l = listening('@taken'); print(tried(unix().connect, '@taken'))
"""


@contextmanager
def _outside(ground: Ground) -> Iterator[dict[str, socket.socket]]:
    """Services outside of the session: at a path that is free, and one that is not."""
    place = ground.base / "outside"
    place.mkdir(exist_ok=True)
    place.chmod(0o777)
    with ExitStack() as stack:
        found = {}
        for name in ("free", "taken", "owned"):
            listener = stack.enter_context(socket.socket(socket.AF_UNIX))
            (place / name).unlink(missing_ok=True)
            listener.bind(str(place / name))
            (place / name).chmod(0o777)
            ground.person.own(place / name)
            listener.listen(64)
            listener.settimeout(0)
            found[name] = listener
        yield found


@pytest.fixture
def outside(ground: Ground) -> Iterator[dict[str, socket.socket]]:
    ground.renew()
    with _outside(ground) as made:
        yield made


def _run(ground: Ground, program: str, *before: str) -> str:
    place = ground.base / "outside"
    options = ["--owners", f"cat:{Path(PYTHON).name}"]
    options += ["--unreachable", f"cat={place / 'take'}*"]
    options += ["--unreachable", f"{Path(PYTHON).name}={place / 'owned'}"]
    words = (*before, PYTHON, "-I", "-B", "-c", PRELUDE + SOCKETS + program)
    done = ground.run(*words, options=options)
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


def _has_caller(listener: socket.socket) -> bool:
    """Whether anybody has connected."""
    try:
        connection, _ = listener.accept()
    except BlockingIOError:
        return False
    connection.close()
    return True


@pytest.mark.parametrize("name", ALIKE)
def test_it_connects_as_alone(ground: Ground, name: str) -> None:
    held, alone = said_twice(ground, SOCKETS + ALIKE[name])
    assert held == alone


def test_in_namespaces_of_its_own_it_connects_as_alone(ground: Ground) -> None:
    ground.needs_namespaces()
    program = SOCKETS + ALIKE["what listens at a path"]
    held, alone = said_twice(ground, program, *OWN_MOUNTS)
    assert held == alone


@pytest.mark.usefixtures("outside")
@pytest.mark.parametrize("way", WAYS)
def test_what_listens_outside_is_reached_where_the_role_lets_it(
    ground: Ground, way: str
) -> None:
    place = ground.base / "outside"
    refused = _run(ground, WAYS[way].replace("@", str(place / "taken"))).split()
    assert refused, way
    assert set(refused) == {"EACCES"}
    done = _run(ground, WAYS[way].replace("@", str(place / "free"))).split()
    assert set(done) == {"None"}


def test_owner_reaches_what_it_owns(
    ground: Ground, outside: dict[str, socket.socket]
) -> None:
    program = WAYS["by its path"].replace("@", str(ground.base / "outside/owned"))
    assert _run(ground, program) == "None\n"
    assert _has_caller(outside["owned"])


def test_nothing_is_won_by_what_is_exchanged_meanwhile(
    ground: Ground, outside: dict[str, socket.socket]
) -> None:
    program = RACE.replace("@", f"{ground.base / 'outside'}/")
    assert _run(ground, program) == "True\n"
    while _has_caller(outside["free"]):
        pass
    # Whoever looks for who listens there hangs up at once.
    while True:
        try:
            connection, _ = outside["taken"].accept()
        except BlockingIOError:
            break
        with connection:
            assert connection.recv(1) == b""


@pytest.mark.usefixtures("outside")
def test_what_the_session_serves_there_itself_it_reaches(ground: Ground) -> None:
    program = OWN.replace("@", f"{ground.base / 'outside'}/")
    assert _run(ground, program) == "None\n"


def test_path_that_reads_like_a_name_of_others_opens_nothing(ground: Ground) -> None:
    """As /proc/net/unix has both."""
    ground.renew()
    name = f"redlane-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"\0{name}")
        listener.listen()
        program = f"l = listening('@{name}'); print(tried(unix().connect, '\\0{name}'))"
        (ground.base / "outside").mkdir(exist_ok=True)
        assert _run(ground, program) == "EPERM\n"


@pytest.mark.usefixtures("outside")
def test_who_listened_and_is_dead_is_none_of_the_session(ground: Ground) -> None:
    place = ground.base / "outside/taken"
    place.unlink()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place))
        place.chmod(0o777)
        if not (pid := os.fork()):
            listener.listen()
            os._exit(0)
        os.waitpid(pid, 0)
        assert _run(ground, f"print(tried(unix().connect, '{place}'))") == "EACCES\n"


def test_names_without_a_path_that_others_have_are_out_of_reach(ground: Ground) -> None:
    ground.renew()
    name = f"redlane-outside-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"\0{name}")
        listener.listen()
        (ground.base / "outside").mkdir(exist_ok=True)
        assert _run(ground, f"print(tried(unix().connect, '\\0{name}'))") == "EPERM\n"


def test_daemon_is_told_for_whom_it_is_asked(ground: Ground) -> None:
    ground.renew()
    program = f"""
s = unix(); s.settimeout(9); s.connect({str(ground.peer.path)!r})
s.sendall(b"GET /x HTTP/1.1\\r\\n\\r\\n")
print(os.getpid(), s.recv(12), s.gettimeout())
print(os.get_inheritable(s.fileno()))
"""
    keep = ["--keep", str(ground.peer.path), "--unreachable", "=/none"]
    words = (PYTHON, "-I", "-B", "-c", PRELUDE + SOCKETS + program)
    done = ground.run(*words, options=keep)
    process, rest = done.stdout.split(maxsplit=1)
    assert rest == "b'HTTP/1.1 200' 9.0\nFalse\n"
    said = f"REDLANE FOR {process}\nGET /x HTTP/1.1".encode()
    assert said in ground.peer.requests
