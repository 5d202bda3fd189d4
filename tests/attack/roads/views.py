"""Roads of other calls, other processes, and other views of the files."""

import ctypes
import errno
import os
import struct
import threading
from contextlib import suppress

from road import AT_FDCWD, call, content, opened_at, road  # type: ignore[import-not-found]  # beside


@road("read")
def _openat2() -> object:
    return content(
        call(437, AT_FDCWD, b"deep/vault/secret", struct.pack("QQQ", 0, 0, 0), 24)
    )


@road("read")
def _x32() -> object:
    return content(call(0x40000000 | 257, AT_FDCWD, b"deep/vault/secret", 0, 0))


@road("read")
def _handle() -> object:
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0), 136)
    mount = ctypes.c_int()
    call(303, AT_FDCWD, b"deep/vault/secret", handle, ctypes.byref(mount), 0)
    directory = os.open("open", os.O_RDONLY)
    return content(call(304, directory, handle, 0))


@road("read")
def _thread() -> object:
    found: list[object] = []

    def work() -> None:
        with suppress(OSError):
            found.append(content("deep/vault/secret"))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return found[0] if found else errno.EPERM


@road("read")
def _thread_with_a_directory_of_its_own() -> object:
    found: list[object] = []

    def work() -> None:
        with suppress(OSError):
            call(272, 0x200)
            os.chdir("deep/vault")
            found.append(content("secret"))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return found[0] if found else errno.EPERM


@road("read")
def _thread_with_descriptors_of_its_own() -> object:
    found: list[object] = []
    os.dup2(os.open("open", os.O_RDONLY), 50)

    def work() -> None:
        with suppress(OSError):
            call(272, 0x400)
            os.dup2(os.open("deep/vault", os.O_RDONLY), 50)
            found.append(opened_at(50, "secret"))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return found[0] if found else errno.EPERM


@road("read")
def _orphan() -> object:
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            with suppress(OSError):
                os.write(writing, content("deep/vault/secret"))
        os._exit(0)
    os.close(writing)
    return os.read(reading, 100) or errno.EPERM


@road("read")
def _other_program() -> object:
    reading, writing = os.pipe()
    child = os.posix_spawn(
        "/bin/cat",
        ["cat", "deep/vault/secret"],
        {},
        file_actions=[(os.POSIX_SPAWN_DUP2, writing, 1), (os.POSIX_SPAWN_CLOSE, 2)],
    )
    os.close(writing)
    os.waitpid(child, 0)
    return os.read(reading, 100) or errno.EPERM


@road("read")
def _changed_root() -> object:
    os.chroot("deep/vault")
    return content("/secret")


@road("read")
def _changed_root_by_name() -> object:
    os.chroot("deep")
    os.chdir("/")
    return content("vault/secret")


def _mount(source: bytes, target: bytes) -> None:
    call(165, source, target, None, 4096, None)


@road("read")
def _bind_mount() -> object:
    call(272, 0x20000)
    _mount(b"deep/vault", b"open")
    return content("open/secret")


@road("read")
def _bind_mount_in_a_user_namespace() -> object:
    call(272, 0x10000000 | 0x20000)
    _mount(b"deep/vault", b"open")
    return content("open/secret")


@road("read")
def _new_mount_calls() -> object:
    call(272, 0x20000)
    tree = call(428, AT_FDCWD, b"deep/vault", 1)
    return opened_at(tree, "secret")


@road("read")
def _after_giving_up_rights() -> object:
    os.setgroups([])
    os.setresgid(61234, 61234, 61234)
    os.setresuid(61234, 61234, 61234)
    return content("deep/vault/secret")


@road("read")
def _after_a_filter_of_its_own() -> object:
    allow = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7FFF0000))
    program = struct.pack("HxxxxxxQ", 1, ctypes.addressof(allow))
    call(157, 38, 1, 0, 0, 0)
    call(317, 1, 0, program)
    return content("deep/vault/secret")
