"""Roads to the processes that supervise; the answer is the secret when one lets it."""

import ctypes
import errno
import fcntl
import os
import resource
import signal
import socket
import struct
from collections.abc import Callable
from pathlib import Path

from road import ROADS, SECRET, call, road  # type: ignore[import-not-found]  # beside


def supervisors() -> list[int]:
    """The processes above that are of the product, the nearest first."""
    found = []
    process = os.getpid()
    while process > 1:
        process = int(
            Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1]
        )
        if process > 1:
            found.append(process)
    return [each for each in found if _is_supervisor(each)]


def _is_supervisor(process: int) -> bool:
    comm = Path(f"/proc/{process}/comm")
    return comm.read_text().strip() == "redlane-run"


def _to_all(act: Callable[[int], object]) -> object:
    """Try on each supervisor; the secret is the answer when one of them let it."""
    found = supervisors()
    errors = []
    for each in found:
        try:
            act(each)
        except OSError as error:
            errors.append(error.errno)
        except ProcessLookupError:
            errors.append(errno.ESRCH)
    if not found:
        return "no supervisor"
    return errno.EPERM if len(errors) == len(found) else SECRET


def _signal_roads() -> None:
    for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGSEGV):
        name = signal.Signals(number).name.lower()
        ways: dict[str, Callable[[int, int], object]] = {
            "kill": os.kill,
            "tkill": lambda each, number: call(200, each, number),
            "tgkill": lambda each, number: call(234, each, each, number),
            "queue": _queue,
            "thread-queue": _thread_queue,
            "pidfd": lambda each, number: signal.pidfd_send_signal(
                os.pidfd_open(each), number
            ),
            "pidfd-of-proc": lambda each, number: signal.pidfd_send_signal(
                os.open(f"/proc/{each}", os.O_RDONLY), number
            ),
        }
        for way, act in ways.items():
            ROADS.setdefault("signal", {})[f"{way}-{name}"] = (
                lambda act=act, number=number: _to_all(lambda each: act(each, number))
            )


def _information(number: int) -> ctypes.Array[ctypes.c_char]:
    return ctypes.create_string_buffer(struct.pack("iii", number, 0, -1), 128)


def _queue(each: int, number: int) -> None:
    call(129, each, number, _information(number))


def _thread_queue(each: int, number: int) -> None:
    call(297, each, each, number, _information(number))


_signal_roads()


@road("signal")
def _owner_of_a_descriptor() -> object:
    def act(each: int) -> None:
        one, other = socket.socketpair()
        fcntl.fcntl(one, 10, signal.SIGKILL)
        fcntl.fcntl(one, fcntl.F_SETOWN, each)
        fcntl.fcntl(one, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
        other.send(b"x")

    return _to_all(act)


@road("signal")
def _extended_owner_of_a_descriptor() -> object:
    def act(each: int) -> None:
        one, other = socket.socketpair()
        fcntl.fcntl(one, 10, signal.SIGKILL)
        fcntl.fcntl(one, 15, struct.pack("ii", 1, each))
        fcntl.fcntl(one, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
        other.send(b"x")

    return _to_all(act)


@road("signal")
def _limit_of_processor_time() -> object:
    return _to_all(lambda each: resource.prlimit(each, resource.RLIMIT_CPU, (0, 0)))


@road("signal")
def _limit_of_descriptors() -> object:
    return _to_all(lambda each: resource.prlimit(each, resource.RLIMIT_NOFILE, (0, 0)))


def _file_of(each: int, name: str, flags: int) -> None:
    os.open(f"/proc/{each}/{name}", flags)


def _memory_roads() -> None:
    names = ("mem", "maps", "environ", "fd/0", "fd/3", "map_files", "auxv", "exe")
    for name in names[:-1]:
        key = f"read-{name.replace('/', '-').replace('_', '-')}"
        ROADS.setdefault("memory", {})[key] = lambda name=name: _to_all(
            lambda each: _file_of(each, name, os.O_RDONLY)
        )
    for name in ("mem", "clear_refs", "oom_score_adj", "comm", "coredump_filter"):
        key = f"write-{name.replace('_', '-')}"
        ROADS["memory"][key] = lambda name=name: _to_all(
            lambda each: _file_of(each, name, os.O_WRONLY)
        )


_memory_roads()


@road("memory")
def _process_vm_readv() -> object:
    room = ctypes.create_string_buffer(8)
    vector = struct.pack("QQ", ctypes.addressof(room), 8)
    other = ctypes.create_string_buffer(struct.pack("QQ", 0x400000, 8))
    return _to_all(lambda each: call(310, each, vector, 1, other, 1, 0))


@road("memory")
def _attach() -> object:
    return _to_all(lambda each: call(101, 16, each, 0, 0))


@road("memory")
def _seize() -> object:
    return _to_all(lambda each: call(101, 0x4206, each, 0, 0))


@road("memory")
def _take_a_descriptor() -> object:
    return _to_all(lambda each: call(438, os.pidfd_open(each), 3, 0))
