"""The command line, read exactly as bash and dash read theirs.

What is not understood is an error here and never reaches the shell, which is given a
line of our own making.
"""

import posix

from .message import USAGE, fail

__all__ = ["Invocation", "parse"]

_LONG = frozenset(
    b"debug debugger dump-po-strings dump-strings login norc noediting noprofile "
    b"posix restricted verbose pretty-print".split()
)
_LETTERS = b"abDefhiklmnprtuvxBCEHPTIV"
_PLAIN = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-"
_DIRECTORIES = (b"/usr/local/bin/", b"/usr/bin/", b"/bin/", b"/usr/sbin/", b"/sbin/")


class Invocation:
    """What one call of the wrapper asks for; `kind` is what is to be judged."""

    def __init__(self, called: bytes) -> None:
        """Read from the name which shell this is; a leading dash means login."""
        name = called.rpartition(b"/")[2]
        self.login = name.startswith(b"-")
        name = name.removeprefix(b"-")
        self.is_sh = name == b"sh"
        self.is_shim = name in {b"sh", b"bash"}
        self.called = called if self.is_shim else b"bash"
        self.kind = ""
        self.command = self.from_input = self.interactive = self.add_norc = False
        self.rcfile: bytes | None = None
        self.options: list[bytes] = []
        self.subject = b""
        self.arguments: list[bytes] = []


def parse(words: list[bytes]) -> Invocation:
    """The invocation of a whole command line, the program's name included."""
    to = Invocation(words[0])
    rest = words[1:]
    rest = _read_letters(to, _read_long_options(to, rest))
    if to.kind != "information":
        _read_subject(to, rest, bare=len(words) == 2)  # noqa: PLR2004  # name and command
    return to


def _read_long_options(to: Invocation, rest: list[bytes]) -> list[bytes]:
    while rest and rest[0][:1] == b"-" and rest[0] not in {b"-", b"--"}:
        word = rest[0]
        name = word[2:] if word[:2] == b"--" else word[1:]
        if name in {b"help", b"version"}:
            to.kind, to.subject = "information", b"--" + name
        elif name in {b"rcfile", b"init-file"}:
            if len(rest) == 1:
                fail(USAGE, to.called, name + b": option requires an argument")
            to.rcfile = rest[1]
            to.options += [b"--rcfile", rest.pop(1)]
        elif name in _LONG:
            to.login = to.login or name == b"login"
            to.options.append(b"--" + name)
        elif word[:2] == b"--":
            fail(USAGE, to.called, word + b": invalid option")
        else:
            break
        rest = rest[1:]
    return rest


def _read_letters(to: Invocation, rest: list[bytes]) -> list[bytes]:
    while rest and rest[0][:1] in {b"-", b"+"}:
        word, rest = rest[0], rest[1:]
        if word in {b"-", b"--"}:
            break
        for at in range(1, len(word)):
            _read_letter(to, word[:1] + word[at : at + 1], rest)
    return rest


def _read_letter(to: Invocation, option: bytes, rest: list[bytes]) -> None:
    letter = option[1:]
    if letter == b"c":  # with either sign, as the shells do
        to.command = True
    elif letter == b"s":
        to.from_input = True
    elif letter in {b"o", b"O"}:
        if not rest:
            fail(USAGE, to.called, option + b": option requires an argument")
        to.options += [option, rest.pop(0)]
    elif letter in _LETTERS:
        to.login = to.login or letter == b"l"
        to.interactive = to.interactive or letter == b"i"
        to.options.append(option)
    else:
        fail(USAGE, to.called, option + b": invalid option")


def _read_subject(to: Invocation, rest: list[bytes], *, bare: bool) -> None:
    if to.command:
        to.kind = "command"
        if not rest:
            fail(USAGE, to.called, b"-c: option requires an argument")
    elif rest and not to.from_input:
        whole = bare and not to.is_shim and _is_command(rest[0])
        to.kind = "command" if whole else "file"
    else:
        to.kind = "terminal" if posix.isatty(0) else "input"
        to.arguments = rest
        return
    to.subject, to.arguments = rest[0], rest[1:]


def _is_command(argument: bytes) -> bool:
    """Whether the only argument is a whole command: agents call a shell prefix so.

    It is one when no such file exists, unless it reads like the name of a script.
    """
    try:
        posix.stat(argument)
    except OSError:
        if any(each not in _PLAIN for each in argument):
            return True
        return any(posix.access(each + argument, posix.X_OK) for each in _DIRECTORIES)
    return False
