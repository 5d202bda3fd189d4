"""Roads that spell the path otherwise."""

import ctypes
import mmap
import os

from road import AT_FDCWD, O_DIRECTORY, O_PATH, call, content, opened_at, road  # type: ignore[import-not-found]  # beside


@road("read")
def _absolute() -> object:
    return content(os.path.abspath("deep/vault/secret"))


@road("read")
def _relative() -> object:
    return content("deep/vault/secret")


@road("read")
def _by_old_open() -> object:
    return content(call(2, b"deep/vault/secret", 0, 0))


@road("read")
def _from_within() -> object:
    os.chdir("deep/vault")
    return content("secret")


@road("read")
def _dots() -> object:
    return content("./open/../deep/./vault//secret")


@road("read")
def _above_the_root() -> object:
    return content("/../../.." + os.path.abspath("deep/vault/secret"))


@road("read")
def _four_thousand_bytes() -> object:
    return content("./" * 2030 + "deep/vault/secret")


@road("read")
def _garbage_in_the_registers() -> object:
    wide = ctypes.c_ulong(0xDEADBEEF_FFFFFF9C)
    return content(call(257, wide, b"deep/vault/secret", 0, -1))


@road("read")
def _from_a_directory() -> object:
    return opened_at(os.open("deep", O_PATH | O_DIRECTORY), "vault/secret")


@road("read")
def _from_its_directory() -> object:
    return opened_at(os.open("deep/vault", os.O_RDONLY), "secret")


@road("read")
def _from_a_moved_working_directory() -> object:
    os.mkdir("gone")
    os.chdir("gone")
    os.rmdir("../gone")
    return content("/proc/self/cwd/../deep/vault/secret")


@road("read")
def _from_a_removed_directory() -> object:
    os.mkdir("gone")
    os.chdir("gone")
    os.rmdir("../gone")
    return content("../deep/vault/secret")


@road("read")
def _path_over_two_pages() -> object:
    memory = mmap.mmap(-1, 8192)
    path = b"deep/vault/secret\0"
    memory[4090 : 4090 + len(path)] = path
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory)) + 4090
    return content(call(257, AT_FDCWD, address, 0))


@road("read")
def _path_at_the_end_of_memory() -> object:
    path = b"deep/vault/secret\0"
    memory = mmap.mmap(-1, 8192)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    call(11, address + 4096, 4096)
    ctypes.memmove(address + 4096 - len(path), path, len(path))
    return content(call(257, AT_FDCWD, address + 4096 - len(path), 0))
