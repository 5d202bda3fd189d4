"""Ways to the files that `redlane-run --keep` keeps, as statements of an insider."""

from collections.abc import Mapping

__all__ = ["BOUND", "COVERED", "REFUSED", "TWINS", "UNSEEN", "WAYS"]

REFUSED = 13  # EACCES

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
        "one = socket.socket(1); "
        "call(49, one.fileno(), b'\\1\\0own/absentXX', ctypes.c_uint64((1 << 32) + 12))"
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
    "times": "os.utime('own/settings')",
    "times of its open file": "os.utime(reading('own/settings'), (1, 1))",
    "an earlier second name": "write('plain/hard')",
    "rights of a pipe by its number": (
        "fd = os.open('own/policies/pipe', os.O_PATH);"
        " os.chmod(f'/proc/self/fd/{fd}', 0o777)"
    ),
    "link on the way of a link": "os.unlink('ways/next')",
    "directory on the way of a link": "os.rename('ways', 'elsewhere')",
    "what a link on the way leads over": "os.rename('plain', 'ways/next')",
}
UNSEEN: Mapping[str, tuple[str, int]] = {
    "path in memory that is written only": (
        "call(257, -100, hidden(b'own/settings'), 1, 0)",
        14,
    ),
    "socket in such": (
        (
            "one = socket.socket(1); "
            "call(49, one.fileno(), hidden(b'\\1\\0own/policies/new'), 18)"
        ),
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
    "nameless file over another": (
        "os.open('/proc/self/fd/%d' % reading('plain/mine'), os.O_RDWR | os.O_TMPFILE)",
        20,
    ),
    "settings of a process outside": (
        "write(f'/proc/{os.getppid()}/oom_score_adj', os.O_WRONLY)",
        REFUSED,
    ),
    "such by another of its numbers": (
        "write(f'/proc/{os.getppid()}/task/{os.getppid()}/comm', os.O_WRONLY)",
        REFUSED,
    ),
    "filter that answers for this one": (
        "call(317, 1, 8, b'\\1' + bytes(7) + b'\\6' + bytes(15))",
        16,
    ),
    "encryption of a directory": (
        "import fcntl; fcntl.ioctl(reading('own/policies'), 0x800c6613, bytes(12))",
        REFUSED,
    ),
    "events with files": ("call(300, 0, 2)", 1),
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
    "times of what is above": "os.utime('.'); os.utime('own', (1, 1))",
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
    raise OSError(ctypes.get_errno(), "mount")
os.utime("at/mine")
""",
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

COVERED: Mapping[str, str] = {
    "moved": "mount('t', 'own', b'tmpfs', 0); os.rename('own', 'elsewhere')",
    "exchanged": "call(316, -100, b'plain', -100, b'own', 2)",
    "exchanged the other way": "call(316, -100, b'own', -100, b'plain', 2)",
    "removed": "os.rmdir('own')",
}
"""What a program has mounted something over, and this process has not."""
