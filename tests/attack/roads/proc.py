"""Roads through /proc and /dev."""

import os
import threading

from road import O_PATH, content, road  # type: ignore[import-not-found]  # beside


def _proc(path: str) -> object:
    return content(path + os.path.abspath("deep/vault/secret"))


@road("read")
def _proc_root() -> object:
    return _proc("/proc/self/root")


@road("read")
def _proc_root_twice() -> object:
    return _proc("/proc/self/root/proc/thread-self/root")


@road("read")
def _proc_root_of_a_task() -> object:
    return _proc(f"/proc/{os.getpid()}/task/{threading.get_native_id()}/root")


@road("read")
def _proc_root_of_the_parent() -> object:
    return _proc(f"/proc/{os.getppid()}/root")


@road("read")
def _proc_working_directory() -> object:
    return content("/proc/self/cwd/deep/vault/secret")


@road("read")
def _proc_working_directory_of_the_parent() -> object:
    return content(f"/proc/{os.getppid()}/cwd/deep/vault/secret")


@road("read")
def _proc_descriptor_of_a_directory() -> object:
    directory = os.open("deep/vault", os.O_RDONLY)
    return content(f"/proc/self/fd/{directory}/secret")


@road("read")
def _dev_fd_of_a_directory() -> object:
    directory = os.open("deep/vault", os.O_RDONLY)
    return content(f"/dev/fd/{directory}/secret")


@road("read")
def _dev_fd_above() -> object:
    directory = os.open("open", os.O_RDONLY)
    return content(f"/dev/fd/{directory}/../deep/vault/secret")


@road("read")
def _path_descriptor_opened_again() -> object:
    number = os.open("deep/vault/secret", O_PATH)
    return content(f"/proc/self/fd/{number}")
