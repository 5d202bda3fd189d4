"""Shells, and commands that hand a command string or their input to one."""

import re
from collections.abc import Iterable, Iterator, Sequence
from shlex import join, quote

from redlane.contexts.shell.expansion.scope import OutputTexts
from redlane.contexts.shell.knowledge.inner import (
    File,
    Inner,
    Text,
    Words,
    option_values,
)
from redlane.contexts.shell.knowledge.output import spelled_lines
from redlane.contexts.shell.knowledge.wrappers import Prefix, commands_after

__all__ = [
    "SHELLS",
    "unwrap_alias",
    "unwrap_command",
    "unwrap_eval",
    "unwrap_flock",
    "unwrap_input",
    "unwrap_parallel",
    "unwrap_remote",
    "unwrap_sg",
    "unwrap_shell",
    "unwrap_source",
    "unwrap_string_option",
    "unwrap_su",
    "unwrap_trap",
    "unwrap_watch",
    "unwrap_xargs",
]

SHELLS = frozenset(
    [
        "sh",
        "bash",
        "dash",
        "zsh",
        "ksh",
        "ksh93",
        "mksh",
        "pdksh",
        "ash",
        "rbash",
        "yash",
        "fish",
        "csh",
        "tcsh",
        "posh",
        "redlane-sh",
    ]
)
_INPUT = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
_FILE_OPTIONS = frozenset({"--rcfile", "--init-file"})
_XARGS = Prefix("aEILnPsd", frozenset({"arg-file", "delimiter", "max-args"}))
_PARALLEL = Prefix("jNnLIXaSC", frozenset({"jobs", "max-args", "arg-file", "colsep"}))
_SSH = Prefix("bcDEeFIiJLlmOopQRSWw")


def unwrap_shell(argv: Sequence[str], stdin: OutputTexts) -> Iterable[Inner]:
    """The command string, script or input of a shell."""
    place, flags = 1, ""
    while place < len(argv):
        word = argv[place]
        if word in ("-", "--"):
            place += 1
            break
        if not word.startswith(("-", "+")):
            break
        place += 1
        if word in _FILE_OPTIONS and place < len(argv):
            yield File(argv[place], is_startup=True)
            place += 1
        elif not word.startswith("--"):
            flags += word[1:] if word.startswith("-") else ""
            place += word.count("o") + word.count("O") if len(word) > 1 else 0
    operands = argv[place:]
    if "c" in flags and operands:
        yield Text(operands[0], tuple(operands[1:]) or ("sh",))
    elif "c" not in flags:
        yield from _script_or_input(operands, stdin, reads_input="s" in flags)


def _script_or_input(
    operands: Sequence[str], stdin: OutputTexts, *, reads_input: bool
) -> Iterable[Inner]:
    if reads_input or not operands or operands[0] in _INPUT:
        rest = operands if reads_input else operands[1:]
        for text in stdin.texts() or spelled_lines(stdin.words):
            yield Text(text, ("sh", *rest))
    else:
        yield File(operands[0], tuple(operands[1:]))
        if "/" not in operands[0]:  # a shell looks for its script in PATH as well
            yield Words(tuple(operands))


def unwrap_eval(argv: Sequence[str], stdin: OutputTexts) -> Iterable[Inner]:  # noqa: ARG001  # one seam for all
    """`eval`: its words, joined, in the shell that is there."""
    words = argv[2:] if argv[1:2] in (["--"], ("--",)) else argv[1:]
    if words:
        yield Text(" ".join(words))


def unwrap_source(argv: Sequence[str], stdin: OutputTexts) -> Iterable[Inner]:
    """`source` and `.`: a script in the shell that is there."""
    operands = [each for each in argv[1:] if each != "--"]
    if operands and operands[0] in _INPUT:
        for text in stdin.texts():
            yield Text(text)
    elif operands:
        yield File(operands[0], tuple(operands[1:]), shared=True)


def unwrap_trap(argv: Sequence[str], stdin: OutputTexts) -> Iterable[Inner]:  # noqa: ARG001  # one seam for all
    """`trap`: a command string for later."""
    operands = [each for each in argv[1:] if each not in ("--", "-p", "-l", "-")]
    if len(operands) > 1:
        yield Text(operands[0], later=True)


def unwrap_alias(argv: Sequence[str], stdin: OutputTexts) -> Iterable[Inner]:  # noqa: ARG001  # one seam for all
    """`alias`: each value is a command string for later."""
    for word in argv[1:]:
        _, sign, value = word.partition("=")
        if sign:
            yield Text(value, later=True)


def unwrap_command(argv: Sequence[str], stdin: OutputTexts) -> Iterable[Inner]:  # noqa: ARG001  # one seam for all
    """`command`, which only looks a name up with `-v` or `-V`."""
    options = [each for each in argv[1:2] if each.startswith("-")]
    if not any("v" in each.lower() for each in options):
        yield from commands_after(argv, Prefix())


def unwrap_su(argv: Sequence[str], stdin: OutputTexts) -> Iterable[Inner]:
    """`su -c` and `runuser`, and a shell that reads commands from the input."""
    strings = _string_options(argv)
    for text in strings:
        yield Text(text, ("sh",))
    name = argv[0].rpartition("/")[2]
    if name == "runuser" and "-u" in argv:
        yield from commands_after(argv, Prefix("ugGsw"))
    elif not strings:
        yield from (Text(text, ("sh",)) for text in stdin.texts())


def unwrap_sg(argv: Sequence[str], stdin: OutputTexts) -> Iterable[Inner]:  # noqa: ARG001  # one seam for all
    """`sg GROUP [-c] COMMAND`: the command is one word, or the words behind it."""
    words = [each for each in argv[1:] if each not in ("-", "-c", "-l")]
    if len(words) > 1:
        yield Text(" ".join(words[1:]), ("sh",))


def _string_options(argv: Sequence[str]) -> list[str]:
    """The values of `-c`, also at the end of a cluster, and of `--command`."""
    found = option_values(argv[1:], ("--command", "--session-command"))
    for place, word in enumerate(argv[1:-1], 1):
        if re.fullmatch(r"-[A-Za-z]*c", word):
            found.append(argv[place + 1])
    return found


def unwrap_string_option(argv: Sequence[str], stdin: OutputTexts) -> Iterable[Inner]:  # noqa: ARG001  # one seam for all
    """`script -c` and its like: the value of `-c` is a command string."""
    for text in _string_options(argv):
        yield Text(text, ("sh",))


def unwrap_flock(argv: Sequence[str], stdin: OutputTexts) -> Iterable[Inner]:
    """`flock FILE -c string` or `flock FILE command`."""
    yield from unwrap_string_option(argv, stdin)
    prefix = Prefix("wE", frozenset({"timeout", "wait", "conflict-exit-code"}), 1)
    yield from commands_after(argv, prefix)


def unwrap_watch(argv: Sequence[str], stdin: OutputTexts) -> Iterable[Inner]:  # noqa: ARG001  # one seam for all
    """`watch` joins its words and hands them to a shell."""
    for each in commands_after(argv, Prefix("nq", frozenset({"interval"}))):
        if isinstance(each, Words):
            yield each
            yield Text(" ".join(each.argv), ("sh",))


def unwrap_input(argv: Sequence[str], stdin: OutputTexts) -> Iterable[Inner]:  # noqa: ARG001  # one seam for all
    """`at` and `batch`: the input is a shell script."""
    for text in stdin.texts():
        yield Text(text, ("sh",))


def unwrap_remote(argv: Sequence[str], stdin: OutputTexts) -> Iterable[Inner]:
    """`ssh`: the words after the host go to a shell there, or else the input does."""
    for option in option_values(argv[1:], ("-o",)):
        found = re.match(r"(?is)\w*command[ =]\s*(.+)", option)
        if found:
            yield Text(found[1], ("sh",))
    for each in commands_after(argv, _SSH):
        if not isinstance(each, Words):
            continue
        after = [word for word in each.argv[1:] if word not in ("-t", "-T", "-tt")]
        if after:
            yield Text(" ".join(after), ("sh",))
        else:
            yield from (Text(text, ("sh",)) for text in stdin.texts())


def unwrap_xargs(argv: Sequence[str], stdin: OutputTexts) -> Iterable[Inner]:
    """`xargs`: the command alone, and with every known word of the input."""
    mark = next(iter(option_values(argv[1:], ("-I", "--replace"))), "{}")
    for file in option_values(argv[1:], ("-a", "--arg-file")):
        others = [each for each in argv[1:] if each not in ("-a", "--arg-file", file)]
        source = file if file.startswith("<(") else quote(file)
        yield Text(f"xargs {join(others)} < {source}", ("sh",))
    for each in commands_after(argv, _XARGS):
        if not isinstance(each, Words):
            continue
        yield each
        for text in stdin.texts():
            by_nul = any(word in ("-0", "--null", "-d") for word in argv)
            words = tuple(text.split("\0") if by_nul else _unquoted(text))
            if any(mark in word for word in each.argv):
                for line in dict.fromkeys((text.strip(), *text.splitlines())):
                    filled = (word.replace(mark, line.strip()) for word in each.argv)
                    yield Words(tuple(filled))
                continue
            yield Words((*each.argv, *words))
            if any(_FEW_AT_ONCE.match(word) for word in argv):
                yield from (Words((*each.argv, word)) for word in words)


_FEW_AT_ONCE = re.compile("-[nL]|--max-(?:args|lines)")
_QUOTED_WORD = re.compile(
    r"""(?:\\.|'[^'\n]*'|"[^"\n]*"|[^\s'"\\]|['"\\])+""", re.DOTALL
)
_QUOTING = re.compile(r"""\\(.)|'([^'\n]*)'|"([^"\n]*)\"""", re.DOTALL)


def _unquoted(text: str) -> Iterator[str]:
    """The words of an input as xargs takes them: quotes and backslashes are its own."""
    for found in _QUOTED_WORD.finditer(text):
        if re.search("['\"]", _QUOTING.sub("", found[0])):
            return  # it ends there, with an error
        yield _QUOTING.sub(lambda each: next(filter(None, each.groups()), ""), found[0])


def unwrap_parallel(argv: Sequence[str], stdin: OutputTexts) -> Iterable[Inner]:
    """GNU parallel: a template for each argument, or each line a command string."""
    words = list(argv)
    given: list[str] = []
    if ":::" in words:
        place = words.index(":::")
        words, given = words[:place], words[place + 1 :]
    given += [line for text in stdin.texts() for line in text.splitlines()]
    templates = [
        " ".join(each.argv)
        for each in commands_after(words, _PARALLEL)
        if isinstance(each, Words)
    ]
    for template in templates or [""]:
        if template:
            yield Text(template, ("sh",))
        for value in given:
            filled = template.replace("{}", value)
            yield Text(filled if "{}" in template else f"{template} {value}", ("sh",))
