"""What a program reads of processes, devices and its own mounts is its own.

The same program runs alone and by `redlane-run`, and says the same.
"""

from collections.abc import Mapping

import pytest
from system.hidden_ground import OWN_MOUNTS, Ground, said_twice

ALIKE: Mapping[str, str] = {
    "files of the process in /proc": """
made("f"); f = os.open("f", R); me = str(os.getpid()); place = ctypes.c_char_p(b"here")
for top in ("/proc/self", f"/proc/{me}", "/proc/thread-self", f"/proc/self/task/{me}"):
    get = lambda name: tried(lambda: text(f"{top}/{name}", 1 << 16))
    print(me.encode() in get("status"), b"python" in get("maps"), get("comm"))
    print(b"MARK=of the test" in get("environ").split(b"\\0"), get("cmdline")[:20])
    print(get("stat").startswith(me.encode()), get("exe")[:4],
        b"Max open" in get("limits"))
    print(get(f"fd/{f}"), get("cwd/f"), len(get("auxv")) > 99, b" / " in get("mounts"))
    print(b" / " in get("mountinfo"), get("oom_score_adj"),
        tried(opened, f"{top}/ns/net"))
    print(get("root/proc/sys/kernel/ostype"), get("none"), get(f"fdinfo/{f}")[:6])
    memory = os.open(f"{top}/mem", R)
    print(os.pread(memory, 4, ctypes.cast(place, ctypes.c_void_p).value))
    net = os.open(f"{top}/ns/net", R)
    print(os.fstat(net).st_ino == os.stat("/proc/self/ns/net").st_ino)
    print(len(get("personality")), len(get("wchan")) < 99,
        get("loginuid")[:1].isdigit())
for top, path in (("", "self/comm"), ("sys", "../self/comm"), ("self", "comm")):
    print(text(path, dir_fd=os.open(f"/proc/{top}", os.O_PATH)))
os.chdir("/proc/self"); print(text("comm"), text(f"task/{me}/comm"), text("fd/../comm"))
""",
    "files of threads in /proc": """
def work():
    assert not c.prctl(15, b"thread", 0, 0, 0)
    own = threading.get_native_id()
    for path in ("/proc/thread-self/comm", f"/proc/self/task/{own}/comm",
            "/proc/self/comm", f"/proc/{own}/comm"):
        print(text(path))
    print(text("/proc/thread-self/stat").startswith(str(own).encode()))
thread(work)
""",
    "what a thread has for itself": """
made("f", b"above"); os.mkdir("d"); made("d/f", b"below")
def with_directory():
    assert not c.unshare(0x200); os.chdir("d")
    print(text("f"), text("/proc/thread-self/cwd/f"), text("/proc/self/cwd/f"))
def with_descriptors():
    assert not c.unshare(0x400)
    file = os.open("d/f", R)
    print(os.read(file, 9), text(f"/proc/thread-self/fd/{file}"))
    print(tried(text, f"/proc/self/fd/{file}"))
thread(with_directory); thread(with_descriptors); print(text("f"))
""",
    "files of other processes in /proc": """
os.mkdir("d"); made("d/f", b"its own")
pid, end = stopped(lambda: os.chdir("d")); top = f"/proc/{pid}"
for name in ("status", "stat", "comm", "environ", "maps", "cwd/f", "root/proc/version",
        "exe", "ns/net", "limits", "fd/0", f"task/{pid}/comm", "cmdline", "none"):
    got = tried(text, f"{top}/{name}", 9)
    print(name[:5], got if isinstance(got, str) else len(got))
print(text(f"{top}/cwd/f"), text(f"{top}/comm"))
end(); print(tried(text, f"{top}/comm"))
for path in ("/proc/1/stat", "/proc/1/cmdline", "/proc/1/status", "/proc/1/comm",
        "/proc/1/none", "/proc/0/stat", "/proc/99999999/stat"):
    print(path, tried(text, path, 2))
""",
    "what the machine tells": """
for path in ("/proc/sys/kernel/osrelease", "/proc/sys/kernel/cap_last_cap",
        "/proc/version", "/sys/devices/system/cpu/online", "/proc/filesystems",
        "/etc/passwd", "/proc/sys/kernel/hostname", "/proc/sys/net/ipv4/ip_default_ttl",
        "/proc/cmdline", "/proc/sys/kernel/random/none", "/proc/devices"):
    print(path, tried(text, path))
for path in ("/proc/cpuinfo", "/proc/meminfo", "/proc/mounts", "/proc/net/dev",
        "/proc/stat", "/proc/sys/kernel/random/uuid", "/proc/loadavg", "/proc/uptime",
        "/dev/urandom", "/dev/random", "/dev/zero", "/dev/full", "/proc/net/tcp",
        "/proc/net/unix", "/proc/self/net/route", "/proc/kallsyms", "/proc/kcore-none",
        "/sys/kernel/uevent_seqnum", "/sys/fs/cgroup/cgroup.controllers", "/dev/null"):
    got = tried(text, path, 8, os.O_NONBLOCK)
    print(path, got if isinstance(got, str) else len(got))
print(text("/proc/sys/kernel/random/uuid") != text("/proc/sys/kernel/random/uuid"))
""",
    "streams": """
made("f"); r, w = os.pipe(); os.write(w, b"piped"); os.dup2(r, 0)
print(text("/dev/stdin", 2), text("/dev/fd/0", 1), text(f"/proc/self/fd/{r}", 1, RW))
print(tried(text, f"/proc/self/fd/{w}", 1), opened(f"/proc/self/fd/{w}", R)[0] & 3)
gone = os.open("g", RW | os.O_CREAT); os.write(gone, b"gone"); os.unlink("g")
print(text(f"/proc/self/fd/{gone}"), tried(text, "g"), text(f"/dev/fd/{gone}", 2))
memory = os.memfd_create("m"); os.write(memory, b"memory")
print(text(f"/proc/self/fd/{memory}"), text(f"/proc/self/fd/{memory}", 3),
    os.lseek(memory, 0, 1))
nameless = os.open(".", RW | os.O_TMPFILE); os.write(nameless, b"nameless")
print(text(f"/proc/self/fd/{nameless}"))
one, other = socket.socketpair(); print(tried(text, f"/proc/self/fd/{one.fileno()}"))
print(tried(text, f"/proc/self/fd/{os.open('f', os.O_PATH)}"),
    tried(text, "/proc/self/fd/99"))
event = os.eventfd(7); print(tried(text, f"/proc/self/fd/{event}"))
watch = os.pidfd_open(os.getpid()); print(tried(text, f"/proc/self/fd/{watch}"))
made("n", mode=0o200); once = os.open("n", W); os.chmod("n", 0)
print(tried(text, f"/proc/self/fd/{once}"), tried(text, "/dev/fd/"),
    tried(text, "/dev/fd/x"))
""",
    "terminals": """
def without():
    os.setsid()
    print(tried(os.open, "/dev/tty", R), tried(os.open, "/dev/tty", 0o400000))
child(without)
pid, terminal = os.forkpty()
if not pid:
    file = os.open("/dev/tty", R); os.write(1, b"ready\\n")
    line = os.read(file, 99) + text(os.ttyname(0), 99) + text("/dev/stdin", 99)
    os.write(os.open("r", W | os.O_CREAT), line); os._exit(0)
while b"ready" not in os.read(terminal, 99): pass
os.write(terminal, b"one\\n"); os.write(terminal, b"two\\n")
os.write(terminal, b"three\\n")
os.waitpid(pid, 0); print(text("r"))
first, second = os.openpty(); name = os.ttyname(second)
print(opened(name, R | os.O_NOCTTY), tried(opened, "/dev/ptmx", R | os.O_NOCTTY))
""",
}
"""Programs that say the same held as alone."""

IN_NAMESPACES: Mapping[str, str] = {
    "as root there": """
made("n", mode=0)
print(os.getuid(), os.getgid())
for path in ("n", "/etc/passwd", "/etc/shadow", "/proc/self/uid_map"):
    got = tried(text, path); print(path, got if isinstance(got, str) else len(got) > 0)
""",
    "what it mounted": """
os.mkdir("m"); os.mkdir("b"); made("f", b"below"); os.mkdir("s"); made("s/f", b"bound")
print(c.mount(b"t", b"m", b"tmpfs", 0, None), c.mount(b"s", b"b", None, 4096, None))
made("m/f", b"in memory"); os.symlink("/proc/self/cwd/f", "m/l")
os.symlink("../f", "m/up")
os.mkfifo("m/p"); os.mkdir("m/d"); file = os.open("m", os.O_PATH); made("g", b"covered")
print(text("m/f"), text("m/l"), text("m/up"), text("b/f"), text("b/../f"),
    text("m/../f"))
print(text("f", dir_fd=file), text(f"/proc/self/fd/{file}/f"), tried(text, "m/none"))
print(text("m/p", flags=R | os.O_NONBLOCK), c.mount(b"f", b"g", None, 4096, None),
    text("g"))
print(c.mount(b"t", b"m/d", b"tmpfs", 256, None)); os.symlink("/etc/passwd", "m/d/l")
print(tried(text, "m/d/l"), tried(text, "m/d/none"),
    c.mount(b"t", b"s", b"tmpfs", 0, None))
print(tried(text, "s/f"), text("b/f"), b" tmpfs " in text("/proc/self/mounts", 1 << 16))
print(c.umount2(b"m", 2), tried(text, "m/f"), text("f", dir_fd=file),
    text("../f", dir_fd=file))
""",
    "what it removed": """
os.mkdir("s"); os.mkdir("b"); print(c.mount(b"s", b"b", None, 4096, None))
made("b/f", b"removed"); file = os.open("b/f", R); os.unlink("b/f")
print(text(f"/proc/self/fd/{file}"), text(f"/dev/fd/{file}", 3))
""",
    "another process in them": """
os.mkdir("m")
def mounted():
    assert not c.unshare(0x20000) and not c.mount(b"t", b"m", b"tmpfs", 0, None)
    made("m/f", b"its own"); os.chdir("m")
pid, end = stopped(mounted)
print(tried(text, "m/f"), text(f"/proc/{pid}/cwd/f"))
print(text(f"/proc/{pid}/root{os.getcwd()}/m/f"),
    tried(text, f"/proc/{pid}/ns/mnt", 0)); end()
""",
    "its own network, names and processes": """
assert not c.unshare(0x40000000 | 0x4000000 | 0x20000000 | 0x8000000)
socket.sethostname("of-its-own")
print(text("/proc/net/dev", 999).count(b":"),
    text("/proc/self/net/dev", 999).count(b":"))
print(text("/proc/sys/kernel/hostname"),
    text("/proc/thread-self/net/tcp", 999).count(b"\\n"))
print(sorted(os.listdir("/proc/sys/net/ipv4/conf")))
def first():
    assert not c.mount(b"p", b"/proc", b"proc", 0, None)
    print(os.getpid(), text("/proc/self/stat")[:2], text("/proc/1/comm"),
        tried(text, "/proc/2/comm"))
    print(os.readlink("/proc/self"), text("/proc/self/cmdline")[:5],
        text("/proc/self/root/proc/1/comm"))
child(first)
""",
    "another user within": """
made("f", mode=0o600); c.unshare(0x10000000)
print(tried(text, "f"), text("/proc/self/uid_map"), os.getuid())
open("/proc/self/setgroups", "w").write("deny")
open("/proc/self/uid_map", "w").write("7 0 1")
print(tried(text, "f"), os.getuid(), text("/proc/self/uid_map").split())
""",
}


@pytest.mark.parametrize("name", ALIKE)
def test_what_the_kernel_tells_is_as_alone(ground: Ground, name: str) -> None:
    held, alone = said_twice(ground, ALIKE[name])
    assert held == alone


@pytest.mark.parametrize("name", IN_NAMESPACES)
def test_in_namespaces_of_its_own_it_reads_what_it_may_there(
    ground: Ground, name: str
) -> None:
    ground.needs_namespaces()
    held, alone = said_twice(ground, IN_NAMESPACES[name], *OWN_MOUNTS)
    assert held == alone
