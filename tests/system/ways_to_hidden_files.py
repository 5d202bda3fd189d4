"""Ways to files that `redlane-run --hidden` hides, as statements of an insider.

They are told apart by two blanks or a new line; `@` is each of some paths.
"""

import re
from pathlib import Path

from system.hidden_ground import PYTHON

__all__ = [
    "ABOVE",
    "ABSENT",
    "ALL_HELD",
    "ALL_LEFT",
    "BOUND",
    "DIRECTORIES",
    "HELD",
    "HIDDEN",
    "INSIDER",
    "LEFT",
    "MAKES",
    "MEMORIES",
    "MOVES",
    "MOVES_IN",
    "NAMED",
    "OVERLAID",
    "OWN_MEMORY",
    "PLAIN_DEVICES",
    "POSING",
    "POSING_IN_MOUNTS",
    "RAW",
    "READS",
    "REMOVED",
    "SEEN",
    "SHELL",
    "SINGLE",
    "TRACES",
    "UNTOLD",
]

INSIDER = """\
import atexit, ctypes, io, itertools, json, os, shutil, struct, subprocess, sys
import threading
from os import *
from os.path import basename, dirname
from stat import S_IFBLK, S_IFCHR
c = ctypes.CDLL(None, use_errno=True)
here, count, started = getcwd(), itertools.count(), []
W, RW, BLOCK, CHAR = O_WRONLY, O_RDWR, S_IFBLK | 0o600, S_IFCHR | 0o600
atexit.register(lambda: [each.kill() or each.wait() for each in started])
def call(number, *words):
    words = [each.encode() if type(each) is str else each for each in words]
    value = c.syscall(number, *words)
    if value < 0: raise OSError(ctypes.get_errno(), "")
    return value
def read(path, flags=O_RDONLY, **at): close(os.open(path, flags, 0o666, **at))
def held(path, flags=O_PATH): return os.open(path, flags)
def top(path): return dirname(path) or "."
def fd_of(file): return f"/proc/self/fd/{file}"
def fresh(): return f"links/{getpid()}-{next(count)}"
def swap(one, other): call(316, -100, one, -100, other, 2)
def mount(what, at, kind="", do=4096): call(165, what, at, kind, do, "")
def linked(path):
    name = fresh(); symlink(path, name); return name
def error_of(what):
    try: what()
    except OSError as error: return error.errno or 255
    return 0
def child(what, start=os.fork):
    pid = start()
    if not pid: os._exit(error_of(what))
    if error := waitstatus_to_exitcode(waitpid(pid, 0)[1]): raise OSError(error, "")
def apart(*what):  # with mounts of its own
    child(lambda: [c.unshare(0x20000) and os._exit(99), *(each() for each in what)])
def inside(path, what): child(lambda: [chdir(path), what()])
def thread(*what):
    errors = []
    def work(): errors.append(error_of(lambda: [each() for each in what]))
    made = threading.Thread(target=work); made.start(); made.join()
    if errors[0]: raise OSError(errors[0], "")
def beside(what, before=lambda: None):
    r, w = pipe(); ready, told = pipe(); pid = os.fork()
    if not pid:
        close(w); before(); os.write(told, b"x"); os.read(r, 1); os._exit(0)
    close(told); os.read(ready, 1)
    try: what(pid)
    finally: close(w); close(r); close(ready); waitpid(pid, 0)
def filtered(*what):  # within a filter of its own, that lets everything pass
    code = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7fff0000))
    form = struct.pack("H6xQ", 1, ctypes.addressof(code))
    child(lambda: [c.prctl(22, 2, form) and os._exit(99), *(each() for each in what)])
def program(*words, **more):
    done = subprocess.run(words, stderr=-3, stdout=-3, **more)
    if done.returncode: raise OSError(1, "")
def started_with(*words):
    one = subprocess.Popen(words, stdin=-1); started.append(one)
    owners.add(one.pid)  # nor is its map read
    return one.pid
def running(*words):
    one = subprocess.Popen(words, stdin=-1, stdout=-1); started.append(one)
    one.stdin.write(b"ready"); one.stdin.flush(); one.stdout.read(1)
    return one.pid
def opened_by(path):  # a program that goes on reading it
    one = subprocess.Popen(("tail", "-f", path), stdout=-1); started.append(one)
    pid = one.pid; one.stdout.read(1)
    (found,) = (each for each in listdir(f"/proc/{pid}/fd")
                if readlink(f"/proc/{pid}/fd/{each}") == f"{here}/{path}")
    return f"/proc/{pid}/fd/{found}"
def interrupted(path):  # the way of 32-bit programs: open(path, O_RDONLY)
    c.mmap.restype = ctypes.c_void_p
    low = c.mmap(None, ctypes.c_size_t(8192), 7, 0x62, -1, ctypes.c_long(0))
    code = bytes.fromhex("53b80500000089fb31c931d2cd805bc3")
    ctypes.memmove(low, code, len(code)); ctypes.memmove(low + 4096, path, len(path))
    value = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(low)(low + 4096)
    if value < 0: raise OSError(-value, "")
def by_handle(path):
    handle, number = (ctypes.c_uint * 40)(128), ctypes.c_int()
    call(303, -100, path, handle, ctypes.byref(number), 0)
    call(304, held(here, O_DIRECTORY), handle, 0)
def trace(request, pid, to=0):
    c.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
    if c.ptrace(request, pid, None, to): raise OSError(ctypes.get_errno(), "")
def attach(pid): trace(16, pid); waitpid(pid, 1 << 30); trace(17, pid)
def seize(pid):
    trace(0x4206, pid); trace(0x4207, pid); waitpid(pid, 1 << 30); trace(17, pid)
def memory(pid, number):  # 310 reads it, and 311 writes it
    of = "self" if pid in owners else pid
    lines = (each.split() for each in io.open(f"/proc/{of}/maps"))
    at = next(int(each[0].split("-")[0], 16) for each in lines if each[1][:2] == "rw")
    place, long = ctypes.create_string_buffer(1), ctypes.c_ulong
    own, theirs = (long * 2)(ctypes.addressof(place), 1), (long * 2)(at, 1)
    def move(number): call(number, pid, own, long(1), theirs, long(1), long())
    if number == 311 and pid not in owners: move(310)  # so that nothing is changed
    move(number)
def taken(pid): call(438, pidfd_open(pid), 0, 0)
owners = {running("cat")}
cat, tee = *owners, running("tee")
ways = json.loads(sys.argv[1])
errors = {}
for each in ways:
    sys.stderr.flush(); errors[each] = error_of(lambda: exec(each, globals()))
print(json.dumps(errors), flush=True)
"""
OWNER = Path(PYTHON).name
HIDDEN = (
    *("=own", "=own/shown/again", "=key", "=up/own", "=absent", "cat:tail=theirs"),
    *(f"{OWNER}=mine", "cat=mine/inner", "=mine/named", f"{OWNER}=mine/named"),
    *(f"{OWNER}=mine/both", "cat=mine/both", f"{OWNER}:cat=mine/two"),
    f"cat:{OWNER}=mine/two",
)
DIRECTORIES = (
    *(
        "own",
        "own/deep",
        "own/shown",
        "own/shown/again",
        "up/own",
        "own.bak",
        "ownother",
    ),
    *(
        "mine",
        "mine/deep",
        "mine/inner",
        "theirs",
        "theirs/deep",
        "other",
        "other/deep",
    ),
    *("left", "left/deep", "links", "at", "at2", "at3", "at4"),
)
SINGLE = ("key", "key~", "key.lock", "key.new", "key.bak", "key.old", "keys", "key.txt")

READS = """
read('@')  read('@', W)  read('@', RW)  read('@', W | O_APPEND)  read('@', 3)
read('@', O_CREAT)  read('@', O_TRUNC | W)  read('@', O_NOFOLLOW)  read('@', O_NONBLOCK)
read('@', O_NOATIME)  call(2, '@', 0)  call(85, '@', 0o600)  call(257, -100, '@', 0)
call(2, '@', ctypes.c_ulong(O_PATH << 32))  read(f'{here}/@')  read(f'//{here}//./@')
read('other/../@')  read('own/deep/../../@')  read('links/' + '../links/' * 99 + '../@')
read(basename('@'), dir_fd=held(top('@')))
read(basename('@'), dir_fd=held(top('@'), O_DIRECTORY))
read(f'../{basename(here)}/@', dir_fd=held('.'))
inside(top('@'), lambda: read(basename('@')))
inside(top('@'), lambda: read('/proc/self/cwd/' + basename('@')))
read('/proc/self/cwd/@')  read(f'/proc/self/root{here}/@')
read(f'/proc/thread-self/root{here}/@')  read(f'/proc/self/task/{getpid()}/cwd/@')
read('cwd/@', dir_fd=held('/proc/self'))  read(f'/proc/net/../root{here}/@')
beside(lambda pid: read(f'/proc/{pid}/root{here}/@'))
beside(lambda pid: read(f'/proc/{pid}/cwd/@'))
beside(lambda pid: read(basename('@'), dir_fd=held(f'/proc/{pid}/cwd/' + top('@'))))
file = held('@'); beside(lambda pid: read(f'/proc/{pid}/fd/{file}'))
read(fd_of(held('@')))  read(f'/dev/fd/{held("@")}')  read(fd_of(held('@')), RW)
read(f'/proc/thread-self/fd/{held("@")}')  read(str(held('@')), dir_fd=held('/dev/fd/'))
read(fd_of(held(top('@'))) + '/' + basename('@'))
read(linked('../@'))  read(linked(f'{here}/@'))  read(linked('../@'), O_CREAT)
read(linked(f'../{top("@")}') + '/' + basename('@'))  read(linked(fd_of(held('@'))))
read(linked(f'{here}/' + linked(f'{here}/' + linked('../@'))))
read(linked('../' + linked('../' + top('@')) + '/' + basename('@')))
thread(lambda: read('@'))  child(lambda: read('@'))
child(lambda: child(lambda: read('@')))
child(lambda: read('@'), lambda: call(56, 0x400 | 17, 0, 0, 0, 0))
thread(lambda: c.unshare(0x200), lambda: chdir(top('@')), lambda: read(basename('@')))
program('head', '-c1', '@')  program('dd', 'if=@', 'count=1')
program('cut', '-c1', '@')
"""
HELD = ("own/file", "own/deep/file", "key", "key.lock", "theirs/file")
LEFT = ("other/file", "own/shown/file", "keys", "key.txt", "mine/file")
ALL_HELD = (
    *HELD,
    *("key~", "key.new", "key.bak", "key.old", "own.bak/file", "up/own/file"),
    *("own/shown/again/file", "mine/inner/file", "mine/named", "mine/both"),
)
ALL_LEFT = (*LEFT, "ownother/file", "own/shown/deep/file", "mine/two", "up/file")

MOVES = """
link('@/file', fresh())  call(265, -100, fd_of(held('@/file')), -100, fresh(), 0x400)
link('file', fresh(), src_dir_fd=held('@'))  link(linked('../@') + '/file', fresh())
inside('@', lambda to='../' + fresh(): link('file', to))  link('@/deep/file', fresh())
rename('@/a', fresh())  rename('b', fresh(), src_dir_fd=held('@'))
inside('@', lambda to='../' + fresh(): rename('c', to))  swap('@/file', 'other/file')
swap('other/file', '@/file')  call(316, held('@'), 'file', -100, 'other/file', 2)
rename('@/deep', fresh())  swap('@', 'other')  swap('other', '@')  rename('@', fresh())
"""
MAKES = """
symlink('x', '@/1')  mkdir('@/2')  mkfifo('@/3')  mknod('@/4')  read('@/5', O_CREAT)
read('@/6', W | O_CREAT | O_EXCL)  mkdir('7', dir_fd=held('@'))
inside('@', lambda: symlink('x', '8'))  symlink('x', linked('../@') + '/9')
read(linked('../@/10'), W | O_CREAT)  rename('@/a', '@/11')
"""
MOVES_IN = """
link('other/file', '@/1')  rename('other/a', '@/2')  swap('other/file', '@/file')
rename('other/b', '@/file')
"""
ABSENT = """
read('absent', W | O_CREAT)  mkdir('absent')  symlink('other', 'absent')
mkfifo('absent')  link('other/file', 'absent')  rename('other/a', 'absent')
rename('other', 'absent')  read('absent.bak', W | O_CREAT)  read('own/new', W | O_CREAT)
"""
ABOVE = """
rename('up', fresh())  swap('up', 'other')  swap('other', 'up')
inside('up', lambda: rename('../up', '../' + fresh()))
"""
SEEN = """
listdir('own')  listdir('own/deep')  held('own', O_DIRECTORY)  held('own/file')
os.stat('own/file').st_size  chdir('own'); chdir(here)  held('key')  os.lstat('key')
held('own/file', O_PATH | O_NOFOLLOW | O_CLOEXEC)  [*walk('.')]  readlink('own/link')
"""
BOUND = """
mount('@', 'at'); read('at/file')
apart(lambda: [mount('@/deep', 'at'), read('at/file')])
apart(lambda: [mount('@/file', 'other/a'), read('other/a')])
apart(lambda: [mount('/', 'at', '', 4096 | 16384), read(f'at{here}/@/file')])
mount('@', 'at2'); mount('at2', 'at3', '', 8192); read('at3/file')
read('at3/deep/file')
call(429, call(428, -100, '@', 1), '', -100, 'at4', 4); read('at4/file')
inside('at4', lambda: read('deep/../file'))  read(linked('../at4/file'))
apart(lambda: [chroot(here), chdir('/'), read('/@/file')])
apart(lambda: [chroot('@'), read('/file')])
apart(lambda: [chroot('at4'), read('/file')])
child(lambda: [c.unshare(0x10000000), read('@/file')])
"""
REMOVED = """
file = held('@'); unlink('@'); read(fd_of(file))
file = held('@.bak'); unlink('@.bak'); read(fd_of(file))
file = held('@.new'); rename('links/other', '@.new'); read(fd_of(file))
"""
"""What is held open, and has no name any more."""
UNTOLD = """
file = held('@'); \
apart(lambda: [mount('t', '@', 'tmpfs', 0), read('file', dir_fd=file)])
read('file', dir_fd=call(428, -100, '@', 1))
read(fd_of(call(428, -100, '@', 1)) + '/file')
read('deep/file', dir_fd=call(428, -100, '@', 0x8001))
file = held('.'); apart(lambda: [chroot('other'), read('@/file', dir_fd=file)])
"""
"""Mounts of which nobody tells what they are the root of."""
OVERLAID = "call(165, 'o', 'at', 'overlay', 0, 'lowerdir=@:left')"
POSING = """
filtered(lambda: program('cat', '@'))
shutil.copy('/usr/bin/cat', 'links/cat'); program('links/cat', '@')
program('cat', '-c1', '@', executable='/usr/bin/head')
symlink('/usr/bin/head', 'at/cat'); program('at/cat', '-c1', '@')
link('links/cat', 'at2/cat'); program('at2/cat', '@')
program('/lib64/ld-linux-x86-64.so.2', '/usr/bin/cat', '@')
io.open('at3/cat', 'w').write('#!/usr/bin/head -c1'); chmod('at3/cat', 0o755); \
program('at3/cat', '@')
"""
POSING_IN_MOUNTS = """
shutil.copy('/usr/bin/cat', 'links/cat'); apart(lambda: \
[mount('links/cat', '/usr/bin/cat'), program('/usr/bin/cat', '@')])
apart(lambda: [mount('t', '/opt', 'tmpfs', 0), \
shutil.copy('/usr/bin/cat', '/opt/cat'), program('/opt/cat', '@')])
makedirs('links/usr/bin', exist_ok=True); \
shutil.copy('/usr/bin/cat', 'links/usr/bin'); \
apart(lambda: [mount('links/usr/bin', '/usr/bin'), program('/usr/bin/cat', '@')])
"""
RAW = """
mknod('d1', BLOCK, makedev(7, 0)); read('d1')  read('d1', O_NONBLOCK)
mknod('d2', BLOCK, makedev(259, 0)); read('d2')  read(linked('../d1'))  read('d2', RW)
mknod('d3', CHAR, makedev(1, 1)); read('d3')
mknod('d4', CHAR, makedev(1, 4)); read('d4')
read(fd_of(held('d1')))  call(300, 0, 0)
"""
PLAIN_DEVICES = """
mknod('d5', CHAR, makedev(1, 3)); read('d5')
mknod('d6', CHAR, makedev(1, 9)); read('d6')
"""
MEMORIES = """
beside(lambda pid: read(f'/proc/{pid}/mem'))
beside(lambda pid: read(f'/proc/{pid}/task/{pid}/mem'))  read(f'/proc/{cat}/mem')
beside(lambda pid: read('mem', dir_fd=held(f'/proc/{pid}')))
beside(lambda pid: read(fd_of(held(f'/proc/{pid}/mem'))))
beside(lambda pid: read(linked(f'/proc/{pid}/mem')))  read(f'/proc/{tee}/mem')
child(lambda: read(f'/proc/{getppid()}/mem'))
inside(f'/proc/{tee}', lambda: read('mem'))
"""
OWN_MEMORY = """
read('/proc/self/mem')  read('/proc/self/mem', RW)  read(f'/proc/{getpid()}/mem')
read('/proc/thread-self/mem')  read(f'/proc/self/task/{getpid()}/mem')
thread(lambda: read('/proc/self/mem'))  thread(lambda: read(f'/proc/{getpid()}/mem'))
thread(lambda: read('/proc/thread-self/mem'))  child(lambda: read('/proc/self/mem'))
read('mem', dir_fd=held('/proc/self'))
inside('/proc/self', lambda: read('/proc/self/mem'))
"""
TRACES = """
attach(@)  seize(@)  memory(@, 310)  memory(@, 311)
child(lambda: attach(@))  thread(lambda: attach(@))
"""
SHELL = """
attach(started_with(f"{dirname(here)}/programs/redlane-sh"))
memory(started_with(f"{dirname(here)}/programs/redlane-sh"), 311)
"""
NAMED = re.compile(r"\n|  +")
