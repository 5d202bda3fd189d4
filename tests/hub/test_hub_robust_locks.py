"""Locks between processes that have threads: they exclude, and never fail."""

import mmap
import os
import struct
import threading

from redlane_hub.locks import locked

PROCESSES = 3
TURNS = 1500
_COUNT = struct.Struct("<Q")


def take_turns(descriptor: int, memory: mmap.mmap, place: int) -> None:
    for _ in range(TURNS):
        with locked(descriptor, place):
            (count,) = _COUNT.unpack_from(memory, place * _COUNT.size)
            _COUNT.pack_into(memory, place * _COUNT.size, count + 1)


def work(descriptors: list[int], memory: mmap.mmap) -> None:
    """One thread for each file, as one waits while the other holds its lock."""
    threads = [
        threading.Thread(target=take_turns, args=(each, memory, place))
        for place, each in enumerate(descriptors)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


def test_lock_is_had_although_threads_of_two_processes_wait_for_each_other() -> None:
    """The kernel sees processes only, and takes that for a deadlock."""
    descriptors = [os.memfd_create(f"lock-{number}") for number in range(2)]
    memory = mmap.mmap(-1, len(descriptors) * _COUNT.size)
    pids = []
    for _ in range(PROCESSES):
        pid = os.fork()
        if pid == 0:
            work(descriptors, memory)
            os._exit(0)
        pids.append(pid)
    for each in pids:
        assert os.waitpid(each, 0)[1] == 0

    counts = [
        _COUNT.unpack_from(memory, place * _COUNT.size)[0]
        for place in range(len(descriptors))
    ]
    assert counts == [PROCESSES * TURNS] * len(descriptors)
    for each in descriptors:
        os.close(each)
