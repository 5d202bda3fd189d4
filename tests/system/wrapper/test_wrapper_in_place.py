"""What `redlane-run` does in a caller's place is what the kernel would have done."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from system.wrapper_programs import Wrapper

PYTHON = "/usr/bin/python3"
PRELUDE = """\
import ctypes, errno, fcntl, os, resource, signal, socket, stat, sys, threading
c = ctypes.CDLL(None, use_errno=True)
def tried(what, *words, **more):
    try:
        return what(*words, **more)
    except OSError as error:
        return errno.errorcode[error.errno]
def made(path, flags=os.O_WRONLY, mode=0o666):
    file = os.open(path, flags | os.O_CREAT, mode)
    os.close(file)
    return oct(os.lstat(path).st_mode)
def modes(*paths):
    return [oct(os.lstat(each).st_mode) for each in paths]
def child(what):
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        what()
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(pid, 0)
def bound_to(directory):
    handled = 0b1111111100010  # write, and make or remove anything
    rules = c.syscall(444, (ctypes.c_uint64 * 1)(handled), 8, 0)
    beneath = handled.to_bytes(8, "little")
    beneath += os.open(directory, os.O_PATH).to_bytes(4, "little")
    assert not c.syscall(445, rules, 1, beneath, 0)
    assert not c.prctl(38, 1, 0, 0, 0) and not c.syscall(446, rules, 0)
    return rules
"""

ALIKE: Mapping[str, str] = {
    "rights by the mask": """
for mask in (0, 0o22, 0o77, 0o777):
    os.umask(mask)
    print(made(f"f{mask}"), os.mkdir(f"d{mask}"), os.mkfifo(f"p{mask}"))
    print(modes(f"d{mask}", f"p{mask}"))
""",
    "masks of threads": """
def work():
    assert not c.unshare(0x200)
    os.umask(0o77)
    print(made("thread"))
os.umask(0)
thread = threading.Thread(target=work); thread.start(); thread.join()
print(made("main"))
""",
    "ends of paths": """
os.mkdir("d"); made("f"); os.symlink("d", "to-d"); os.symlink("none", "to-none")
for call in (os.rmdir, os.unlink, os.mkdir):
    for path in (".", "..", "d/.", "d/..", "f/", "to-d/", "to-none/", "none/"):
        print(call.__name__, path, tried(call, path))
for path in ("d/", "to-d/", "to-none/", "new/", "f/", ".", "to-d"):
    print(path, tried(made, path), tried(os.rename, path, "other"))
    print(tried(os.chmod, path, 0o700), tried(os.link, "f", path))
print(sorted(os.listdir()))
""",
    "flags of opens": """
made("f"); os.symlink("f", "l"); os.symlink("new", "dangling"); os.mkdir("d")
W, N = os.O_WRONLY, os.O_NOFOLLOW
print(tried(os.write, os.open("f", os.O_PATH | os.O_RDWR), b"x"))
for flags in (N, os.O_CREAT | os.O_EXCL, os.O_CREAT | N, os.O_CREAT, os.O_TRUNC,
              os.O_DIRECTORY, os.O_APPEND, os.O_CLOEXEC, os.O_TMPFILE, 0o400000000):
    for path in ("f", "l", "dangling", "d", "absent", "/dev/null"):
        file = tried(os.open, path, W | flags, 0o600)
        if isinstance(file, int):
            told = fcntl.fcntl(file, fcntl.F_GETFL), fcntl.fcntl(file, fcntl.F_GETFD)
            os.close(file)
            file = told
        print(oct(flags), path, file)
    tried(os.unlink, "new"), tried(os.unlink, "absent")
""",
    "lowest number": """
made("f"); before = os.open("f", 0); os.close(before)
print(os.open("f", os.O_WRONLY) == before)
resource.setrlimit(resource.RLIMIT_NOFILE, (before + 1, before + 1))
print(tried(os.open, "f", os.O_WRONLY))
""",
    "pipe": """
os.mkfifo("p")
print(tried(os.open, "p", os.O_WRONLY | os.O_NONBLOCK))
child(lambda: os.write(os.open("p", os.O_RDWR), b"x"))
def write():
    file = os.open("p", os.O_WRONLY)
    print("flags", fcntl.fcntl(file, fcntl.F_GETFL) & os.O_NONBLOCK)
    os.write(file, b"all")
thread = threading.Thread(target=write); thread.start()
print(os.read(os.open("p", os.O_RDONLY), 9)); thread.join()
""",
    "locks end with their file": """
busy = 0
for _ in range(300):
    file = os.open("l", os.O_RDWR | os.O_CREAT); fcntl.flock(file, fcntl.LOCK_EX)
    os.close(file); file = os.open("l", os.O_RDONLY)
    busy += tried(fcntl.flock, file, fcntl.LOCK_EX | fcntl.LOCK_NB) is not None
    os.close(file)
print(busy)
""",
    "what only looks": """
made("f"); file = os.open("f", os.O_PATH)
print(tried(os.fchmod, file, 0o600), tried(os.fchown, file, -1, -1))
print(tried(os.setxattr, file, "user.a", b""), tried(os.fchmod, -100, 0o700))
print(tried(os.chmod, f"/proc/self/fd/{file}", 0o600), modes("f"))
print(c.syscall(452, -100, b"f", 0o644, 7), ctypes.get_errno())
""",
    "limit of a file": """
made("f"); signal.signal(signal.SIGXFSZ, lambda *_: print("signal"))
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
print(tried(os.truncate, "f", 100), tried(os.truncate, "f", 1000))
print(os.stat("f").st_size)
""",
    "times": """
made("f"); os.symlink("f", "l"); file = os.open("f", os.O_RDONLY)
def told():
    print(*((each.st_atime_ns, each.st_mtime_ns) for each in map(os.lstat, "fl")))
os.utime("l", (5, 6), follow_symlinks=False); os.utime("f", (1, 2.5)); told()
os.utime("l", (-3, 4), follow_symlinks=False); told()
os.utime(file, ns=(7, 1 << 33)); told()
print(c.utimes(b"f", (ctypes.c_long * 4)(1, 2, 3, 4))); told()
print(c.utimes(b"f", (ctypes.c_long * 4)(1, 2000000, 3, 4)), ctypes.get_errno())
print(c.syscall(132, b"f", (ctypes.c_long * 2)(8, 9))); told()
print(tried(os.utime, "none"), tried(os.utime, "f/"), tried(os.utime, -1))
now = os.stat("f").st_mtime; os.utime("f"); print(os.stat("f").st_mtime > now + 99)
""",
    "pipe that nobody reads": """
def late(*_):
    raise TimeoutError
os.mkfifo("p"); signal.signal(signal.SIGALRM, late); signal.setitimer(0, 0.2)
try:
    os.open("p", os.O_WRONLY)
except TimeoutError:
    print("interrupted")
""",
    "address of a socket": """
os.mkdir("d"); os.symlink("d", "l")
for path in ("here", "./d/s", "l/t", os.path.abspath("u"), "none/x", "here"):
    one = socket.socket(socket.AF_UNIX)
    print(tried(one.bind, path), one.getsockname()[-6:], tried(one.listen))
    child(lambda: print(tried(socket.socket(socket.AF_UNIX).connect, path)))
one, path = socket.socket(1), f"/proc/self/fd/{os.open('d', os.O_PATH)}/by-number"
print(tried(one.bind, path), tried(socket.socket(1).connect, "d/by-number"))
inet = socket.socket(); inet.bind(("127.0.0.1", 0)); print(inet.getsockname()[0])
print(tried(inet.bind, ("192.0.2.1", 0)), tried(os.fchmod, inet.fileno(), 0o600))
print(sorted(os.listdir()))
""",
    "attributes": """
made("f"); os.symlink("f", "l")
print(tried(os.setxattr, "l", "user.a", b"1"), tried(os.getxattr, "f", "user.a"))
print(tried(os.setxattr, "l", "user.a", b"1", follow_symlinks=False))
print(tried(os.setxattr, "f", "user.a", b"1", os.XATTR_CREATE))
print(tried(os.setxattr, "f", "user.b", b""), tried(os.getxattr, "f", "user.b"))
print(tried(os.setxattr, "f", "user.c", bytes(70000)))
print(tried(os.setxattr, "f", "x", b""))
print(tried(os.removexattr, "f", "user.a"), tried(os.removexattr, "f", "user.a"))
print(tried(os.truncate, "f", 5), os.stat("f").st_size, tried(os.truncate, ".", 5))
print(tried(os.truncate, "none", 0), tried(os.truncate, "f", -1))
""",
    "terminals": """
pid, terminal = os.forkpty()
if not pid:
    file = os.open("/dev/tty", os.O_RDWR)
    os.write(file, b"%d" % (os.tcgetpgrp(file) == os.getpgrp()))
    os._exit(0)
print(os.read(terminal, 9)); os.waitpid(pid, 0)
os.setsid()
print(tried(os.open, "/dev/tty", os.O_RDWR))
""",
    "memory": """
file = os.open("/proc/self/mem", os.O_RDWR)
place = ctypes.create_string_buffer(b"before")
os.pwrite(file, b"after!", ctypes.addressof(place)); print(place.value)
""",
    "a domain of its own": """
os.mkdir("in"); made("out"); made("in/f"); bound_to("in")
def all():
    print(tried(made, "in/f"), tried(made, "in/new"), tried(os.unlink, "in/new"))
    print(tried(made, "out"), tried(made, "new"), tried(os.mkdir, "new"))
    print(tried(os.unlink, "out"), tried(os.rename, "in/f", "f"))
    print(tried(os.link, "out", "g"))
all(); child(all); child(lambda: child(all))
thread = threading.Thread(target=all); thread.start(); thread.join()
print(sorted(os.listdir()))
""",
    "a domain that is widened later": """
os.mkdir("in"); rules, all = bound_to("in"), (0b1111111100010).to_bytes(8, "little")
c.syscall(445, rules, 1, all + os.open(".", os.O_PATH).to_bytes(4, "little"), 0)
print(tried(made, "in/f"), tried(made, "out"))
""",
    "a domain of a thread with files of its own": """
os.mkdir("in"); end = threading.Event()
def alone():
    assert not c.unshare(0x400); bound_to("in")
    print(tried(made, "in/f"), tried(made, "out")); end.wait()
thread = threading.Thread(target=alone); thread.start()
end.set(); thread.join(); print(tried(made, "main"))
""",
    "no domain": """
c.prctl(38, 1, 0, 0, 0)
print(c.syscall(446, os.open(".", os.O_RDONLY), 0), ctypes.get_errno())
print(c.syscall(446, 99, 0), ctypes.get_errno(), tried(made, "f"))
""",
    "what began before a domain": """
os.mkdir("in"); r, w = os.pipe(); pid = os.fork()
if not pid:
    os.read(r, 1); print(tried(made, "out"), flush=True); os._exit(0)
bound_to("in"); os.write(w, b"x"); os.waitpid(pid, 0)
""",
}
"""Programs that say the same kept as alone."""

OF_ROOT: Mapping[str, str] = {
    "somebody else": """
os.mkdir("closed", 0o700); os.mkdir("closed/open"); os.mkdir("open")
os.chmod("closed/open", 0o777); os.chmod("open", 0o1777); made("mine"); os.umask(0o27)
def other():
    os.setgroups([65533]); os.setgid(65534); os.setuid(65534)
    print(tried(made, "open/f"), tried(made, "mine"), tried(made, "closed/open/f"))
    print(tried(os.chown, "open/f", 65534, 65533), tried(os.chown, "open/f", 0, 0))
    print(tried(os.chmod, "mine", 0o777), tried(os.rename, "open/f", "open/g"))
child(other)
about = os.stat("open/g"); print(about.st_uid, about.st_gid, oct(about.st_mode))
def partly():
    os.seteuid(65534)
    print(tried(made, "open/h"), tried(made, "open/g"), tried(os.unlink, "mine"))
child(partly)
""",
    "another root": """
os.mkdir("root"); os.mkdir("root/d"); os.symlink("/d", "root/l")
def inside():
    os.chroot("root"); os.chdir("/")
    one = socket.socket(socket.AF_UNIX)
    print(made("/l/f"), tried(one.bind, "/l/s"), one.getsockname(), os.listdir("/d"))
child(inside)
""",
}

IN_NAMESPACES: Mapping[str, str] = {
    "what it owns and is closed": """
made("f", mode=0); os.mkdir("d", 0); print(os.getuid())
print(tried(made, "f"), tried(made, "d/f"), tried(os.chown, "f", 0, 0))
print(tried(os.chown, "f", 1, 1), os.stat("f").st_uid)
os.chmod("d", 0o700); print(sorted(os.listdir("d")))
""",
    "what it mounted": """
os.mkdir("m"); print(c.mount(b"t", b"m", b"tmpfs", 0, None))
one = socket.socket(socket.AF_UNIX)
print(made("m/f"), tried(one.bind, os.path.abspath("m/s")), one.getsockname()[-3:])
print(tried(os.link, "m/f", "g"), tried(os.rename, "m/f", "m/g"), os.listdir("m"))
""",
    "what it covered": """
os.mkdir("m"); made("f"); made("g"); c.mount(b"f", b"g", None, 4096, None)
print(c.mount(b"t", b"m", b"tmpfs", 256, None))  # nosymfollow
os.symlink("/etc", "m/l"); os.symlink("/etc/passwd", "m/p")
print(tried(made, "m/l/x"), tried(made, "m/p"), tried(os.chmod, "m/p", 0o600))
print(tried(os.rmdir, "m"), tried(os.rename, "m", "n"), tried(os.unlink, "g"))
print(tried(os.rename, "f", "g"), tried(made, "g", os.O_EXCL), tried(made, "g/"))
print(tried(made, "m"), tried(os.open, "m", os.O_RDWR | os.O_TMPFILE) != "EISDIR")
""",
    "another user within": """
c.unshare(0x10000000)
print(tried(open, "/proc/self/setgroups", "w"), os.getuid())
open("/proc/self/setgroups", "w").write("deny")
open("/proc/self/uid_map", "w").write("7 0 1"); print(os.getuid())
made("f"); print(os.stat("f").st_uid)
""",
}


def _alone(program: str, place: Path, *before: str) -> str:
    place.mkdir()
    done = subprocess.run(
        [*before, PYTHON, "-I", "-c", PRELUDE + program],
        cwd=place,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout + done.stderr


def _kept(wrapper: Wrapper, program: str, place: Path, *before: str) -> str:
    socket = wrapper.environment["REDLANE_SOCKET"]
    run = (str(wrapper.directory / "redlane-run"), "--socket", socket)
    keep = ("--keep", str(place.parents[1] / "own/settings"), "--")
    return _alone(program, place, *run, *keep, *before)


def _is_same(wrapper: Wrapper, program: str, base: Path, *before: str) -> None:
    (base / "alone").mkdir()
    (base / "kept").mkdir()
    alone = _alone(program, base / "alone/place", *before)
    assert _kept(wrapper, program, base / "kept/place", *before) == alone.replace(
        str(base / "alone"), str(base / "kept")
    )


@pytest.mark.parametrize("name", ALIKE)
def test_done_in_place_it_is_as_alone(
    wrapper: Wrapper, tmp_path: Path, name: str
) -> None:
    _is_same(wrapper, ALIKE[name], tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: this is not root")
@pytest.mark.parametrize("name", OF_ROOT)
def test_who_has_become_another_may_what_that_one_may(
    wrapper: Wrapper, tmp_path: Path, name: str
) -> None:
    for each in (tmp_path, *tmp_path.parents[:2]):
        each.chmod(0o755)
    _is_same(wrapper, OF_ROOT[name], tmp_path)


@pytest.mark.parametrize("name", IN_NAMESPACES)
def test_in_namespaces_of_its_own_it_may_what_it_may_there(
    wrapper: Wrapper, tmp_path: Path, name: str
) -> None:
    unshare = ("/usr/bin/unshare", "-Urm")
    if subprocess.run([*unshare, "true"], check=False, capture_output=True).returncode:
        pytest.skip("NOT TESTED: no namespaces are to be had here")
    _is_same(wrapper, IN_NAMESPACES[name], tmp_path, *unshare)
