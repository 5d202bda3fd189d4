"""`redlane-sh` in Python: asks the daemon, then becomes the real shell."""

import _signal  # type: ignore[import-not-found]  # built in, has no stub
import posix
import sys

from .ask import ask
from .become import Shell
from .locate import Place, locate
from .message import REFUSED, EndingError, tell
from .options import Invocation, parse
from .startup import judge_startup, quoted

__all__ = ["main"]


def main() -> None:
    """Run the program; it ends by becoming the shell, or with a refusal.

    This is a fail-closed boundary: an error that nobody foresaw is a refusal.
    """
    closed = _plug()
    _restore_signals()
    try:
        _run([_raw(word) for word in sys.argv], closed)
    except EndingError as ending:
        _end(ending)
    except Exception as error:  # noqa: BLE001  # the boundary, see above
        reason = repr(error).encode(errors="replace")
        _end(EndingError(REFUSED, b"internal error: %s; not run" % reason))


def _end(ending: EndingError) -> None:
    tell(ending.message, ending.speaker)
    posix._exit(ending.status)  # noqa: SLF001  # public as os._exit


def _raw(word: str) -> bytes:
    return word.encode(sys.getfilesystemencoding(), "surrogateescape")


def _plug() -> list[int]:
    """Fill what the caller left closed of 0, 1 and 2: our files must not land there."""
    closed = []
    for number in (0, 1, 2):
        try:
            posix.fstat(number)
        except OSError:
            posix.open("/dev/null", posix.O_RDWR | posix.O_CLOEXEC)
            closed.append(number)
    return closed


def _restore_signals() -> None:
    """Undo what the interpreter changed; an ignored SIGINT was the caller's."""
    _signal.signal(_signal.SIGPIPE, _signal.SIG_DFL)
    _signal.signal(_signal.SIGXFSZ, _signal.SIG_DFL)
    if _signal.getsignal(_signal.SIGINT) is not _signal.SIG_IGN:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)


def _run(words: list[bytes], closed: list[int]) -> None:
    invocation = parse(words)
    shell = Shell(invocation, words[0], closed)
    if invocation.kind == "information":
        shell.run_information()
    place = locate(words[0])
    if invocation.kind == "terminal":
        shell.run_terminal(place)
    place.supervises = True
    judge_startup(invocation, place)
    shell.place = place
    if invocation.kind == "command":
        question = b"\0".join((invocation.subject, *invocation.arguments))
        rewritten = ask(place, question)
        shell.run_command(invocation.subject if rewritten is None else rewritten)
    if invocation.kind == "file":
        _judge_file(invocation, shell, place)
    _judge_input(invocation, shell, place)


def _judge_file(invocation: Invocation, shell: Shell, place: Place) -> None:
    """A rewritten line replaces the whole of `bash FILE ARGUMENTS`."""
    from .script import open_script, replace_script  # noqa: PLC0415  # rarely needed

    script = open_script(invocation)
    if script.text is None:
        name = b"sh" if invocation.is_sh else b"bash"
        line = [name, quoted(script.seen), *map(quoted, invocation.arguments)]
        rewritten = ask(place, b" ".join(line))
        if rewritten is not None:
            shell.run_command(rewritten)
        shell.run_file(invocation.subject)
    words = (script.text, invocation.subject, *invocation.arguments)
    rewritten = ask(place, b"\0".join(words))
    replace_script(script, script.text if rewritten is None else rewritten)
    shell.run_file(script.path)


def _judge_input(invocation: Invocation, shell: Shell, place: Place) -> None:
    from .script import memory_file, read_script  # noqa: PLC0415  # rarely needed

    text, ended = read_script(0, may_stall=True)
    if not ended:
        shell.run_stream(place, memory_file(text))
    words = (text, invocation.called, *invocation.arguments)
    rewritten = ask(place, b"\0".join(words))
    shell.run_input(memory_file(text if rewritten is None else rewritten))
