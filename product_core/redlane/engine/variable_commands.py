"""Which variables a shell command changes, by its name and arguments."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType

__all__ = [
    "EVERY",
    "RUNNERS",
    "VARIABLE_COMMANDS",
    "Words",
    "assigned_in_arithmetic",
    "assigned_name",
]

Words = tuple[str, ...]

EVERY = "*"
"""Stands for every variable, where a command clears its environment."""

RUNNERS = frozenset(
    {
        "builtin",
        "busybox",
        "chroot",
        "chrt",
        "command",
        "coproc",
        "doas",
        "env",
        "exec",
        "find",
        "firejail",
        "flock",
        "ionice",
        "ltrace",
        "nice",
        "nohup",
        "nsenter",
        "numactl",
        "parallel",
        "runuser",
        "script",
        "setpriv",
        "setsid",
        "stdbuf",
        "strace",
        "su",
        "sudo",
        "systemd-run",
        "taskset",
        "time",
        "timeout",
        "unshare",
        "watch",
        "xargs",
    }
)
"""Commands that run the command in their arguments."""

_ARITHMETIC = re.compile(
    r"(?<!\w)([A-Za-z_]\w*+)(?=\s*+(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=)))"
    r"|(?:\+\+|--)\s*+([A-Za-z_]\w*+)"
)
"""Names that are assigned in arithmetic; possessive, so that the time is linear."""

_ENV_LONG = ("--unset", "--chdir", "--split-string")


def assigned_name(word: str) -> str | None:
    """The name in `name=…`, `name+=…` or `name[…]=…`; `$…` where it is not known."""
    left, sign, _ = word.partition("=")
    name = left.removesuffix("+").partition("[")[0]
    if sign and (name.isidentifier() or "$" in name or "`" in name):
        return name
    return None


def assigned_in_arithmetic(text: str) -> Iterator[str]:
    """The names that `((…))` or `let` assigns, in whatever way."""
    for match in _ARITHMETIC.finditer(text):
        yield match[1] or match[2]


def _split(
    arguments: Words, with_value: str, long_with_value: Words = ()
) -> tuple[list[tuple[str, str]], Words]:
    """Options as (letter or long name, value), and the operands behind them.

    `with_value` are the letters whose value follows, in the same word or the next,
    `long_with_value` the names of which that is true.
    """
    options: list[tuple[str, str]] = []
    place = 0
    while place < len(arguments):
        word = arguments[place]
        if word == "--":
            place += 1
            break
        if len(word) < 2 or word[0] not in "-+":  # noqa: PLR2004  # a sign and a letter
            break
        place += 1
        if word.startswith("--"):
            name, sign, value = word.partition("=")
            if not sign and name in long_with_value and place < len(arguments):
                value = arguments[place]
                place += 1
            options.append((name, value))
            continue
        for at, letter in enumerate(word[1:], start=1):
            value = word[at + 1 :]
            if letter in with_value:
                if not value and place < len(arguments):
                    value = arguments[place]
                    place += 1
                options.append((word[0] + letter, value))
                break
            options.append((word[0] + letter, ""))
    return options, arguments[place:]


def _name(word: str) -> str:
    return assigned_name(word) or word.partition("[")[0]


def _export(arguments: Words) -> Iterator[str]:
    """`export NAME=x` assigns, `export -n NAME` hides it from children."""
    options, operands = _split(arguments, "")
    signs = {option for option, _ in options}
    if "-f" not in signs:
        for each in operands:
            if "-n" in signs or "=" in each or "$" in each:
                yield _name(each)


def _declare(arguments: Words, *, hides: bool = False) -> Iterator[str]:
    """`declare NAME=x`, `+x` hides it, `-n` links to it; `local` empties it."""
    options, operands = _split(arguments, "")
    signs = {option for option, _ in options}
    if signs & {"-f", "-F", "-p"}:
        return
    for each in operands:
        if "=" in each or "$" in each or hides or "+x" in signs:
            yield _name(each)
        if "-n" in signs:
            yield each.partition("=")[2]


def _unset(arguments: Words) -> Iterator[str]:
    options, operands = _split(arguments, "")
    if not any(option == "-f" for option, _ in options):
        yield from map(_name, operands)


def _operands(arguments: Words, *, with_value: str, also: str = "") -> Iterator[str]:
    """The operands of `read` and its like, and the values of the options `also`."""
    options, operands = _split(arguments, with_value)
    yield from (value for option, value in options if option[1:] in tuple(also))
    yield from map(_name, operands)


def _option_value(arguments: Words, *, letter: str) -> Iterator[str]:
    """The name that `printf -v` or `wait -p` fills."""
    options, _ = _split(arguments, letter)
    yield from (_name(value) for option, value in options if option == f"-{letter}")


def _getopts(arguments: Words) -> Iterator[str]:
    yield from arguments[1:2]


def _let(arguments: Words) -> Iterator[str]:
    for each in arguments:
        yield from assigned_in_arithmetic(each)


def _env(arguments: Words) -> Iterator[str]:
    """`env -i`, `env -u NAME`, `env NAME=x`, and the same inside of `env -S TEXT`."""
    options, operands = _split(arguments, "uCS", _ENV_LONG)
    for option, value in options:
        if option in ("-i", "--ignore-environment"):
            yield EVERY
        elif option in ("-u", "--unset"):
            yield value
        elif option in ("-S", "--split-string"):
            yield from _env(tuple(value.split()))
    yield from _leading_assignments(operands)


def _sudo(arguments: Words) -> Iterator[str]:
    _, operands = _split(arguments, "ACDRTUghprtu")
    yield from _leading_assignments(operands)


def _leading_assignments(operands: Words) -> Iterator[str]:
    for each in operands:
        if each == "-":
            yield EVERY
            continue
        name = assigned_name(each)
        if name is None:
            return
        yield name


def _exec(arguments: Words) -> Iterator[str]:
    """`exec -c` runs a command without any variable."""
    options, _ = _split(arguments, "a")
    if any(option == "-c" for option, _ in options):
        yield EVERY


def _systemd_run(arguments: Words) -> Iterator[str]:
    options, _ = _split(arguments, "EpuHM", ("--setenv",))
    for option, value in options:
        if option in ("-E", "--setenv"):
            yield _name(value)


def _first(arguments: Words) -> Iterator[str]:
    """`setenv` and `unsetenv` of the C shell."""
    yield from arguments[:1]


def _fish_set(arguments: Words) -> Iterator[str]:
    """`set -x NAME x` and `set -e NAME` of fish; elsewhere `set` takes no names."""
    options, operands = _split(arguments, "")
    if any(option in ("-x", "-u", "-e", "-g", "-U", "-l") for option, _ in options):
        yield from operands[:1]


_DECLARES = ("declare", "typeset", "readonly", "integer", "float")

VARIABLE_COMMANDS: Mapping[str, Callable[[Words], Iterator[str]]] = MappingProxyType(
    {
        **dict.fromkeys(_DECLARES, _declare),
        "local": partial(_declare, hides=True),
        "export": _export,
        "unset": _unset,
        "read": partial(_operands, with_value="adinNptu", also="a"),
        "mapfile": partial(_operands, with_value="dnOsuCc"),
        "readarray": partial(_operands, with_value="dnOsuCc"),
        "printf": partial(_option_value, letter="v"),
        "wait": partial(_option_value, letter="p"),
        "getopts": _getopts,
        "let": _let,
        "env": _env,
        "sudo": _sudo,
        "doas": partial(_operands, with_value="Cu"),
        "exec": _exec,
        "systemd-run": _systemd_run,
        "setenv": _first,
        "unsetenv": _first,
        "set": _fish_set,
    }
)
"""What each command changes; a name that is not known yet stands as `$…`."""
