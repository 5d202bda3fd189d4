"""What `redlane-run --hidden` opens in a caller's place is what it would have opened.

The same program runs alone and by `redlane-run`, and says the same.
"""

from collections.abc import Mapping
from errno import EPERM

import pytest
from system.hidden_ground import PYTHON, Ground, said_twice

ALIKE: Mapping[str, str] = {
    "what is not there, or not to be had": """
made("f"); os.mkdir("d"); os.symlink("none", "to-none"); os.symlink("loop", "loop")
os.symlink("f", "l"); os.symlink("d", "to-d"); made("d/g"); os.symlink("a", "b")
os.symlink("b", "a"); made("w", mode=0o200); made("x", mode=0o111); made("n", mode=0)
os.mkdir("closed"); made("closed/f"); os.chmod("closed", 0o600); os.mkdir("unread")
made("unread/f"); os.chmod("unread", 0o300)
for path in ("none", "none/x", "f/x", "f/", "f/.", "f/..", "d/x", "d/none/x", "to-none",
        "to-none/x", "loop", "loop/x", "a", "l/", "l/x", "to-d/", "to-d/g", "to-d/x",
        "to-d", "x" * 255, "x" * 256, "d/" + "x" * 256, "./" * 2047 + "f",
        "./" * 2048 + "f", "", ".", "..", "/", "d", "d/", "d/.", "d/../f", "w", "x",
        "n", "closed/f", "closed/x", "closed/../f", "unread/f", "unread", "//", "///f"):
    print(path[:9], len(path), tried(opened, path), tried(text, path))
""",
    "flags": """
made("f"); os.symlink("f", "l"); os.mkdir("d"); os.symlink("d", "to-d"); os.mkfifo("p")
os.symlink("none", "dangling"); s = socket.socket(socket.AF_UNIX); s.bind("s")
for flags in (0, os.O_NOFOLLOW, os.O_DIRECTORY, os.O_DIRECTORY | os.O_NOFOLLOW, 3,
        os.O_NONBLOCK, os.O_CLOEXEC, os.O_APPEND, os.O_NOATIME, os.O_PATH,
        os.O_PATH | os.O_NOFOLLOW, os.O_SYNC, os.O_DSYNC, os.O_ASYNC, os.O_NOCTTY,
        os.O_EXCL, os.O_CREAT | os.O_EXCL, os.O_CREAT | os.O_DIRECTORY,
        os.O_NDELAY | os.O_NOFOLLOW, 0o400000000, 1 << 30):
    for path in ("f", "l", "d", "to-d", "dangling", "none", "s", "/dev/null", "f/",
            "d/"):
        print(oct(flags), path, tried(opened, path, flags))
    print(oct(flags), "p", tried(opened, "p", flags | os.O_NONBLOCK))
    for name in ("none", "dangling"):
        tried(os.unlink, name)
    os.symlink("none", "dangling")
""",
    "words of the call": """
made("f"); f = os.open("f", R); os.mkdir("d"); made("d/f", b"below")
d, p = os.open("d", R), os.open("d", os.O_PATH); b = os.open("f", os.O_PATH)
print(call(2, None, 0), call(257, -100, None, 0),
    call(257, -100, ctypes.c_void_p(16), 0))
for at in (f, d, p, b, 999, -1, -100, -5):
    for path in (b"f", b"", b"../f", os.path.abspath("f").encode(), b"/none"):
        got = call(257, at, path, 0)
        print(at in (f, d, p, b), at, path[:6],
            type(got) is int and os.read(got, 9) or got)
for flags in (R, W, os.O_RDWR, R | os.O_CREAT, W | os.O_TRUNC, R | os.O_DIRECTORY):
    print(oct(flags), *(tried(os.open, each, flags, dir_fd=f) for each in ("..", ".")))
""",
    "lowest number, up to the limit": """
made("f"); before = os.open("f", R); os.close(before)
print(os.open("f", R) == before, os.open("f", R) == before + 1)
os.close(before); print(os.open("f", R) == before, os.dup(before) == before + 2)
resource.setrlimit(resource.RLIMIT_NOFILE, (before + 4, before + 4))
print(os.open("f", R) == before + 3, tried(os.open, "f", R))
os.close(before); print(os.open("f", R) == before, tried(os.open, "f", R))
resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0)); print(tried(os.open, "f", R))
""",
    "offsets and times are a file's own": """
made("f", b"0123456789"); one, other = os.open("f", R), os.open("f", R)
print(os.read(one, 3), os.read(other, 2), os.read(one, 3), os.lseek(other, 0, 1))
same = os.dup(one); print(os.read(same, 2), os.lseek(one, 0, 1))
print(tried(os.write, one, b"x"), mmap.mmap(one, 10, prot=mmap.PROT_READ)[:4])
print(tried(mmap.mmap, one, 10), os.fstat(one).st_ino == os.stat("f").st_ino)
print(os.readlink(f"/proc/self/fd/{one}") == os.path.abspath("f"))
""",
    "locks end with their file": """
busy = 0; made("l")
for _ in range(300):
    file = os.open("l", R); fcntl.flock(file, fcntl.LOCK_EX); os.close(file)
    file = os.open("l", R)
    busy += tried(fcntl.flock, file, fcntl.LOCK_EX | fcntl.LOCK_NB) is not None
    os.close(file)
print(busy)
""",
    "directories": """
os.mkdir("d"); made("d/f"); file = os.open("d", R)
print(os.listdir(file), tried(os.read, file, 1), tried(text, "f", dir_fd=file))
os.fchdir(file); print(text("f"), os.getcwd()[-2:], os.listdir("."), tried(text, "."))
print(sorted(os.listdir(os.open("..", R))), len(list(os.walk(".."))))
print({"self", "1", "net"} <= set(os.listdir("/proc")),
    len(os.listdir("/proc/self/task")))
""",
    "a pipe whose reader is first": """
os.mkfifo("p"); r, w = os.pipe()
for data in (b"some", b"", b"more"):
    pid = os.fork()
    if not pid:
        file = os.open("p", R); flags = fcntl.fcntl(file, fcntl.F_GETFL) & os.O_NONBLOCK
        got = os.read(file, 9); os.write(w, b"%d:%b;" % (flags, got)); os._exit(0)
    while isinstance(file := writer_waits("p"), str): os.sched_yield()
    os.write(file, data); os.close(file); os.waitpid(pid, 0); print(os.read(r, 99))
print(writer_waits("p"))
""",
    "a pipe whose writer is first": """
os.mkfifo("p"); r, w = os.pipe(); pid = os.fork()
if not pid:
    os.write(w, b"x"); file = os.open("p", W); os.write(file, b"written"); os._exit(0)
os.read(r, 1); print(text("p"), os.waitpid(pid, 0)[1])
file = os.open("p", R | os.O_NONBLOCK); print(os.read(file, 9), opened("p", RW)[0] & 3)
other = os.open("p", W); print(tried(os.read, file, 9)); os.write(other, b"late")
print(os.read(file, 9), tried(text, "p", flags=R | os.O_NONBLOCK))
""",
    "pipes between threads": """
os.mkfifo("p"); got = []
for _ in range(50):
    one = threading.Thread(target=lambda: got.append(text("p"))); one.start()
    file = os.open("p", W); os.write(file, b"x"); os.close(file); one.join()
print(got == [b"x"] * 50)
""",
    "a pipe by a descriptor": """
os.mkfifo("p"); held = os.open("p", os.O_PATH); pid = os.fork()
if not pid:
    os.write(os.open("p", W), b"held"); os._exit(0)
print(text(f"/proc/self/fd/{held}"), os.waitpid(pid, 0)[1])
""",
    "a signal while it waits": """
class Rung(Exception): pass
def ring(*_):
    if waits: raise Rung
os.mkfifo("p"); waits = False; signal.signal(signal.SIGALRM, ring)
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
try:
    waits = True; os.open("p", R)
except Rung:
    print("interrupted")
waits = False; signal.setitimer(signal.ITIMER_REAL, 0)
print(until(lambda: writer_waits("p"), "ENXIO"))
""",
    "a signal after which it waits again": """
os.mkfifo("p"); r, w = os.pipe(); os.set_blocking(w, False); signal.set_wakeup_fd(w)
signal.signal(signal.SIGALRM, lambda *_: None)
signal.siginterrupt(signal.SIGALRM, False)
def write():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM]); os.read(r, 1)
    file = os.open("p", W); os.write(file, b"after it"); os.close(file)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
one = threading.Thread(target=write); one.start()
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
signal.setitimer(signal.ITIMER_REAL, 0.05); print(text("p")); one.join()
""",
    "readers that are killed": """
os.mkfifo("p"); made("f"); pids = []; r, w = os.pipe()
for _ in range(40):
    pid = os.fork()
    if not pid:
        os.write(w, b"x"); os.open("p", R); os._exit(0)
    pids.append(pid); os.read(r, 1)
print([text("f") for _ in range(5)])
for pid in pids: os.kill(pid, signal.SIGKILL)
print({os.waitpid(each, 0)[1] for each in pids})
print(until(lambda: writer_waits("p"), "ENXIO"), text("f"))
""",
    "many at once": """
made("f", b"same"); errors = []
for each in range(40): made(f"f{each}", b"%d" % each)
def work():
    for number in range(2000):
        each = number % 40
        if text(f"f{each}") != b"%d" % each or tried(text, "none") != "ENOENT":
            errors.append(number)
def all():
    threads = [threading.Thread(target=work) for _ in range(8)]
    for one in threads: one.start()
    for one in threads: one.join()
    os._exit(len(errors) > 0)
pids = []
for _ in range(2):
    pid = os.fork()
    if not pid: all()
    pids.append(pid)
print([os.waitpid(each, 0)[1] for each in pids], len(os.listdir("/proc/self/fd")))
""",
    "programs": """
made("f", b"one\\ntwo\\n")
for words in (["cat", "f"], ["grep", "-c", "o", "f"], ["cat", "none"],
    ["find", ".", "-type", "f"],
              ["sed", "-n", "1p", "f"], ["tail", "-n1", "f"], ["cmp", "f", "f"],
              ["cat", "/proc/self/comm"], ["dd", "if=f", "bs=2", "count=1",
                  "status=none"],
              ["perl", "-e", "open F, q(<), q(f) or die $!; print <F>"]):
    done = subprocess.run(words, capture_output=True)
    print(words[0], done.returncode, done.stdout, done.stderr)
print(subprocess.run(["cat"], stdin=os.open("f", R), capture_output=True).stdout)
""",
    "a domain of its own": """
os.mkdir("in"); made("in/f"); made("out")
handled = 0b1100  # read files and directories
rules = c.syscall(444, (ctypes.c_uint64 * 1)(handled), 8, 0)
beneath = handled.to_bytes(8, "little") + os.open("in", os.O_PATH).to_bytes(4, "little")
print(c.syscall(445, rules, 1, beneath, 0), c.prctl(38, 1, 0, 0, 0),
    c.syscall(446, rules, 0))
def all():
    print(tried(text, "in/f"), tried(text, "out"), tried(os.listdir, "in"),
        tried(os.listdir, "."))
    print(tried(opened, "in/none"), tried(opened, "none"),
        tried(opened, "out", os.O_PATH)[1])
    print(tried(text, "/proc/self/comm"), tried(text, "/dev/null"))
all(); thread(all); child(all); child(lambda: child(all))
""",
}
"""Programs that say the same held as alone."""

OF_ROOT: Mapping[str, str] = {
    "somebody else": """
made("root", mode=0o600); made("group", mode=0o640); made("all")
made("other", mode=0o604)
os.chown("group", 0, 65533); os.mkdir("closed", 0o700); made("closed/f")
made("own", mode=0o400)
os.chown("own", 65534, 65534); os.mkdir("sticky"); os.chmod("sticky", 0o711)
made("sticky/f")
held = os.open("closed", os.O_PATH)
def look():
    for path in ("root", "group", "all", "other", "closed/f", "own", "sticky/f",
            "sticky", "closed", "/proc/1/stat", "none"):
        got = tried(text, path, 3); print(path, got if len(got) > 3 else len(got))
    print(tried(text, "f", dir_fd=held))
    print(tried(opened, "all", os.O_NOATIME), tried(opened, "own", os.O_NOATIME))
def other(): os.setgroups([65533]); os.setgid(65534); os.setuid(65534); look()
def effective(): os.seteuid(65534); look()
def by_group(): os.setgroups([]); os.setegid(65533); os.seteuid(65534); look()
def file_user(): c.setfsgid(65534); c.setfsuid(65534); look()
def without(): print(c.prctl(24, 1), c.prctl(24, 2)); look()
def only_searching():  # CAP_DAC_READ_SEARCH, kept by another user
    c.prctl(8, 1); os.setuid(65534)
    print(c.syscall(126, (ctypes.c_uint * 2)(0x20080522, 0),
        (ctypes.c_uint * 6)(4, 4, 0)))
    look()
for each in (other, effective, by_group, file_user, without, only_searching):
    print(each.__name__); child(each)
def one():
    assert not call(119, 65533, 65533, 65533)
    print(call(117, 65534, 65534, 65534))
    look()
child(lambda: thread(one)); look()
""",
    "another root": """
os.mkdir("root"); os.mkdir("root/d"); os.symlink("/d", "root/l")
made("root/d/f", b"inside")
made("f", b"outside"); os.symlink("../../../f", "root/d/up")
file = os.open(".", os.O_PATH)
os.mkdir("root/proc")
def inside():
    os.chroot("root"); os.chdir("/")
    for path in ("/d/f", "d/f", "/l/f", "l/../d/f", "/../d/f", "../../f", "d/up",
            "/etc/passwd"):
        print(path, tried(text, path))
    print(tried(text, "f", dir_fd=file), tried(text, "../f", dir_fd=file))
child(inside)
pid, end = stopped(lambda: os.chroot("root"))
print(text(f"/proc/{pid}/root/d/f"), tried(text, f"/proc/{pid}/root/l/f"),
      tried(text, f"/proc/{pid}/root/d/../../f")); end()
""",
}


@pytest.mark.parametrize("name", ALIKE)
def test_what_is_opened_is_as_alone(ground: Ground, name: str) -> None:
    held, alone = said_twice(ground, ALIKE[name])
    assert held == alone


@pytest.mark.parametrize("name", OF_ROOT)
def test_who_has_become_another_reads_what_that_one_may(
    ground: Ground, name: str
) -> None:
    if not ground.is_roots:
        pytest.skip("NOT TESTED: this is not root")
    held, alone = said_twice(ground, OF_ROOT[name])
    assert held == alone


TAKEN_AWAY = """
import ctypes, os
place = os.open("own", os.O_RDONLY | os.O_DIRECTORY)
away = ctypes.CDLL(None).umount2(b"own", 2)
try: print(away, os.open("secret", os.O_RDONLY, dir_fd=place))
except OSError as error: print(away, error.errno)
print(os.read(os.open("beside", os.O_RDONLY), 99).decode())
"""


def test_what_is_unmounted_stays_hidden(ground: Ground) -> None:
    if not ground.is_roots:
        pytest.skip("NOT TESTED: these are for root")
    ground.renew()
    (ground.place / "own").mkdir()
    (ground.place / "beside").write_text("as it was")
    mounting = 'mount -t tmpfs none own && echo so > own/secret && exec "$@"'
    within = ("/usr/bin/unshare", "-m", "/bin/sh", "-c", mounting, "sh")
    words = (PYTHON, "-I", "-B", "-c", TAKEN_AWAY)
    options = ["--hidden", f"={ground.place / 'own'}"]
    done = ground.run(*words, options=options, within=within)
    assert done.stdout == f"0 {EPERM}\nas it was\n", done
