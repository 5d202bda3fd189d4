"""A script whose writer waits for answers: judged and run one whole command at a time.

A program may keep a shell open and write to its standard input what it wants next. Its
commands cannot be judged together, so each is as soon as it is whole. The first that
is refused ends the shell: what follows was written in the belief that it had run.
"""

import os
import select
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from socket import socket, socketpair
from typing import NamedTuple

from redlane.client.locating import DaemonAddress
from redlane.contexts.shell.running.asking import SCRIPT_MAX, ask
from redlane.contexts.shell.running.completeness import Completeness, completeness
from redlane.contexts.shell.running.environment import clean_environment
from redlane.messages import REFUSED, EndingError, tell

__all__ = ["run_stream"]

_MOST_BEFORE = 64 * 1024
_PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)


def run_stream(place: DaemonAddress, begun: int, shell: Sequence[str]) -> int:
    """Feed judged commands to `shell` (its path, then its words); its status.

    `begun` is an open file with what had been read when the writer paused.
    """
    with os.fdopen(begun, "rb") as file:
        text = file.read()
    # Unlike a pipe, a socket cannot be opened again below /proc and written to; bash
    # would take it for that of a remote shell, whose ~/.bashrc it reads.
    commands, theirs = socketpair()
    alone = ["--norc"] if shell[0].endswith("bash") else []
    with theirs:
        process = subprocess.Popen(
            [*shell[1:2], *alone, *shell[2:]],
            executable=shell[0],
            stdin=theirs.fileno(),
            env=clean_environment(),
        )
    for number in _PASSED_ON:
        signal.signal(number, lambda received, _: process.send_signal(received))
    refusal = None
    try:
        _feed(place, _Fed(process, commands), text)
    except EndingError as error:
        refusal = error
    commands.close()
    status = process.wait()
    if refusal is not None:
        tell(refusal.message)
        return REFUSED
    if status < 0:
        with suppress(OSError):  # SIGKILL cannot be set, nor need it be
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status


class _Fed(NamedTuple):
    """A shell, and where its commands go in."""

    process: "subprocess.Popen[bytes]"
    commands: socket


def _feed(place: DaemonAddress, fed: _Fed, text: bytes) -> None:
    """Feed until the script or the shell ends; raises EndingError for a refusal."""
    before = b""
    with os.fdopen(os.pidfd_open(fed.process.pid), "rb") as ended:
        while True:
            whole, text = _take_whole(text)
            _judge_and_write(place, fed.commands, whole, before)
            before = (before + whole)[-_MOST_BEFORE:]
            if ended.fileno() in select.select([0, ended.fileno()], [], [])[0]:
                return
            piece = os.read(0, 65536)
            if not piece:
                break
            text += piece.replace(b"\0", b"")
            if len(text) > SCRIPT_MAX:
                raise EndingError(REFUSED, b"the script is too long; not run")
    _judge_and_write(place, fed.commands, text, before)


def _take_whole(text: bytes) -> tuple[bytes, bytes]:
    """The lines of `text` that can be run, and what is to be waited for."""
    end = text.rfind(b"\n") + 1
    if not end or completeness(text[:end])[0] is Completeness.UNFINISHED:
        return b"", text
    return text[:end], text[end:]


def _judge_and_write(
    place: DaemonAddress, commands: socket, text: bytes, before: bytes
) -> None:
    if not text:
        return
    rewritten = ask(place, text, before)
    text = text if rewritten is None else rewritten
    if not text.endswith(b"\n"):
        text += b"\n"
    with suppress(OSError):  # it reads no more
        commands.sendall(text)
