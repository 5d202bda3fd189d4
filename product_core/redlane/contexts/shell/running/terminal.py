"""The guarded shell on a terminal: reads whole commands, has each judged, runs it."""

import os
import re
import readline
import signal
import sys
from contextlib import suppress
from pathlib import Path

from redlane.client.locating import DaemonAddress
from redlane.contexts.shell.running.asking import ask
from redlane.contexts.shell.running.completeness import Completeness, completeness
from redlane.contexts.shell.running.guarded_shell import EndedError, GuardedShell
from redlane.messages import EndingError, tell

__all__ = ["run_terminal"]

_SYNTAX, _INTERRUPTED = 2, 130
_CONTINUED = "> "
_EDITING = re.compile(rb"\s*set\s+-o\s+(vi|emacs)\s*")


def run_terminal(place: DaemonAddress, role: str | None) -> int:
    """Read and run commands until the shell or its terminal ends; the exit status."""
    readline.parse_and_bind("tab: complete")
    terminal = _open_terminal()
    status = 0
    try:
        with GuardedShell(terminal, _shims(place)) as shell:
            while True:
                status = _run_or_drop(shell, place, role, status)
    except EndedError as ended:
        return _exit_status(ended.status)
    finally:
        os.close(terminal)


def _shims(place: DaemonAddress) -> dict[bytes, bytes]:
    """What makes the shells that are started by name ask as well."""
    directory = place.socket.rpartition(b"/")[0] + b"/bin"
    path = os.environb.get(b"PATH") or os.defpath.encode()
    if directory in path.split(b":") or not os.access(directory + b"/bash", os.X_OK):
        return {}
    return {b"PATH": directory + b":" + path, b"SHELL": directory + b"/bash"}


def _open_terminal() -> int:
    """The terminal that controls us, or else the one on standard input."""
    try:
        return os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return os.dup(0)


def _exit_status(status: int) -> int:
    """The shell's own status; this process ends by the signal that ended it."""
    if status < 0:
        with suppress(OSError):  # SIGKILL cannot be set, nor need it be
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status


def _run_or_drop(
    shell: GuardedShell, place: DaemonAddress, role: str | None, status: int
) -> int:
    """One command; Ctrl-C drops it, whenever it comes, and never ends the shell."""
    try:
        return _run_next(shell, place, role, status)
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        return _INTERRUPTED


def _run_next(
    shell: GuardedShell, place: DaemonAddress, role: str | None, status: int
) -> int:
    """One command, from the prompt to its status, which is the next one's `$?`."""
    directory = shell.directory
    if directory is not None:
        _follow(directory)
    try:
        text = _read_command(_prompt(role, directory))
        if text is None:
            return shell.close(status)
        return _judge_and_run(shell, place, text, status)
    except EndingError as refusal:
        tell(refusal.message, refusal.speaker)
        return refusal.status


def _follow(directory: str) -> None:
    """Stand where the shell stands: file names complete, and are judged, from there."""
    try:
        os.chdir(directory)
    except OSError:
        tell(b"the working directory of the shell cannot be entered")


def _prompt(role: str | None, directory: str | None) -> str:
    home = os.environ.get("HOME", "")
    shown = directory or "?"
    if home and Path(shown).is_relative_to(home):
        shown = str(Path("~") / Path(shown).relative_to(home))
    label = f"[redlane {role}]" if role else "[redlane]"
    end = "#" if os.geteuid() == 0 else "$"
    text = f"{label} {shown} {end} "
    return "".join(each if each.isprintable() else "?" for each in text)


def _read_command(prompt: str) -> bytes | None:
    """Lines until they are a whole command; None at the end of the terminal's input."""
    text = b""
    while True:
        try:
            line = input(_CONTINUED if text else prompt)
        except EOFError:
            sys.stderr.write("\n")
            if not text:
                return None
            tell(b"the command was not finished; not run")
            return b""
        text += line.encode(errors="surrogateescape") + b"\n"
        state, said = completeness(text)
        if state is Completeness.WRONG:
            raise EndingError(_SYNTAX, _complaint(said), b"bash")
        if state is Completeness.COMPLETE:
            return text.strip(b"\n")


def _complaint(said: bytes) -> bytes:
    """The first line of what bash says, without its beginning."""
    line = said.partition(b"\n")[0]
    return line.partition(b": line ")[2].partition(b": ")[2] or line


def _judge_and_run(
    shell: GuardedShell, place: DaemonAddress, text: bytes, status: int
) -> int:
    if not text.strip():
        return status
    editing = _EDITING.fullmatch(text)
    if editing:  # the lines are edited here, and the shell's own editing is off
        readline.parse_and_bind(f"set editing-mode {editing[1].decode()}")
        return 0
    rewritten = ask(place, text, shell.state)
    if rewritten is not None:
        tell(b"rewritten: " + rewritten)
        text = rewritten
    return shell.run(text, status)
