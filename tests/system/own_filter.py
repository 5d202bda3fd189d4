"""Starts a program under a seccomp filter of its own, as agents' sandboxes do.

Run as a program, by any Python: `own_filter.py RULES WAY WORD…`. RULES are names of
system calls with the error that each ends with, `connect=1,openat=0@2:0`: 0 is a lie,
and `@2:0` means only with a 0 for the third argument. `-` is no filter at all; several
filters, with `;` between them, are tried one after the other, each in a child.
"""

import ctypes
import os
import platform
import socket
import struct
import sys
from collections.abc import Callable, Sequence

__all__ = ["LIKE_CODEX"]

LIKE_CODEX = ",".join(
    f"{each}=1"
    for each in (
        *("connect", "accept", "accept4", "bind", "listen", "getpeername"),
        *("getsockname", "shutdown", "sendto", "sendmmsg", "recvmmsg"),
        *("getsockopt", "setsockopt", "ptrace"),
    )
)
"""What the sandbox of Codex refuses to commands that are to have no network."""

_NUMBERS = {
    "x86_64": {
        "read": 0,
        "write": 1,
        "close": 3,
        "stat": 4,
        "ioctl": 16,
        "dup2": 33,
        "getpid": 39,
        "socket": 41,
        "connect": 42,
        "accept": 43,
        "sendto": 44,
        "sendmsg": 46,
        "recvmsg": 47,
        "shutdown": 48,
        "bind": 49,
        "listen": 50,
        "getsockname": 51,
        "getpeername": 52,
        "setsockopt": 54,
        "getsockopt": 55,
        "execve": 59,
        "fcntl": 72,
        "getcwd": 79,
        "chdir": 80,
        "fchdir": 81,
        "ptrace": 101,
        "recvfrom": 45,
        "exit_group": 231,
        "openat": 257,
        "newfstatat": 262,
        "unshare": 272,
        "accept4": 288,
        "recvmmsg": 299,
        "sendmmsg": 307,
        "memfd_create": 319,
        "execveat": 322,
        "pidfd_open": 434,
        "pidfd_getfd": 438,
    },
    "aarch64": {
        "getcwd": 17,
        "fcntl": 25,
        "ioctl": 29,
        "chdir": 49,
        "fchdir": 50,
        "openat": 56,
        "close": 57,
        "read": 63,
        "write": 64,
        "newfstatat": 79,
        "exit_group": 94,
        "unshare": 97,
        "ptrace": 117,
        "getpid": 172,
        "socket": 198,
        "bind": 200,
        "listen": 201,
        "accept": 202,
        "connect": 203,
        "getsockname": 204,
        "getpeername": 205,
        "sendto": 206,
        "recvfrom": 207,
        "setsockopt": 208,
        "getsockopt": 209,
        "shutdown": 210,
        "sendmsg": 211,
        "recvmsg": 212,
        "execve": 221,
        "accept4": 242,
        "recvmmsg": 243,
        "sendmmsg": 269,
        "memfd_create": 279,
        "execveat": 281,
        "pidfd_open": 434,
        "pidfd_getfd": 438,
    },
}
_NO_NEW_PRIVILEGES, _SECCOMP = 38, 22
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_ARGUMENTS = 16
_LIBRARY = ctypes.CDLL(None, use_errno=True)


def _code(rule: str) -> list[tuple[int, int, int, int]]:
    """What answers one system call; it is left where the call is another one."""
    name, _, answer = rule.partition("=")
    error, _, condition = answer.partition("@")
    answers = [(_RETURN, 0, 0, _ERROR | int(error))]
    if condition:
        index, value = map(int, condition.split(":"))
        only = (_EQUAL, 0, 1, value)
        answers = [(_LOAD, 0, 0, _ARGUMENTS + 8 * index), only, *answers]
    number = _NUMBERS[platform.machine()].get(name)
    if number is None:
        return []
    return [(_LOAD, 0, 0, 0), (_EQUAL, 0, len(answers), number), *answers]


def _load(rules: str) -> None:
    code = [each for rule in rules.split(",") for each in _code(rule)]
    code.append((_RETURN, 0, 0, _ALLOW))
    packed = b"".join(struct.pack("HBBI", *each) for each in code)
    text = ctypes.create_string_buffer(packed)
    program = struct.pack("HxxxxxxQ", len(code), ctypes.addressof(text))
    _LIBRARY.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    if _LIBRARY.prctl(_SECCOMP, 2, program, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no filter")


def _exec(words: Sequence[str]) -> None:
    os.execvp(words[0], list(words))


def _exec_when_told(words: Sequence[str]) -> None:
    """Says which process it is, and waits for a line."""
    sys.stdout.write(f"{os.getpid()}\n")
    sys.stdout.flush()
    os.read(0, 1)
    _exec(words)


def _exec_descriptor(words: Sequence[str]) -> None:
    """By execveat, so that execve may be one of those that lie."""
    os.execve(os.open(words[0], os.O_RDONLY), list(words), os.environ)


def _with_variables(words: Sequence[str]) -> None:
    """Exactly these variables, which may have the same name: those before `--`."""
    middle = words.index("--")
    given = [os.fsencode(each) for each in words]
    command = _vector(given[middle + 1 :])
    _LIBRARY.execve(given[middle + 1], command, _vector(given[:middle]))
    raise OSError(ctypes.get_errno(), "no start")


def _vector(words: Sequence[bytes]) -> "ctypes.Array[ctypes.c_char_p]":
    return (ctypes.c_char_p * (len(words) + 1))(*words, None)


def _with_pairs(rules: str, way: str, words: Sequence[str]) -> None:
    """Its streams are ends of pairs of sockets, as Node makes them."""
    ours, theirs = zip(*(socket.socketpair() for _ in range(3)), strict=True)
    pid = os.fork()
    if not pid:
        for number, each in enumerate(theirs):
            os.dup2(each.fileno(), number)
        _start(rules, way, words)
    for each in theirs:
        each.close()
    for each, to in zip(ours[1:], (1, 2), strict=True):
        while piece := each.recv(65536):
            os.write(to, piece)
    os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) % 256)


def _start(rules: str, way: str, words: Sequence[str]) -> None:
    if rules != "-":
        _load(rules)
    _WAYS[way](words)


_WAYS: dict[str, Callable[[Sequence[str]], None]] = {
    "exec": _exec,
    "when told": _exec_when_told,
    "descriptor": _exec_descriptor,
    "variables": _with_variables,
}


def _each(filters: Sequence[str], way: str, words: Sequence[str]) -> None:
    for rules in filters:
        if not (pid := os.fork()):
            _start(rules, way, words)
        os.waitpid(pid, 0)


def _main() -> None:
    rules, way, *words = sys.argv[1:]
    if ";" in rules:
        _each(rules.split(";"), way, words)
    elif way == "pairs":
        _with_pairs(rules, "exec", words)
    else:
        _start(rules, way, words)


if __name__ == "__main__":
    _main()
