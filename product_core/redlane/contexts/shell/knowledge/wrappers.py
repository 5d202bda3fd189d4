"""Commands that run the command in their own words: sudo, env, nice and more."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from posixpath import join
from types import MappingProxyType

from redlane.contexts.shell.expansion.scope import OutputTexts
from redlane.contexts.shell.knowledge.inner import (
    Inner,
    Text,
    Words,
    option_values,
)

__all__ = [
    "Prefix",
    "after_dashes",
    "prefixed",
    "unwrap_capsh",
    "unwrap_env",
    "unwrap_perf",
    "unwrap_prefix",
    "unwrap_redlane",
]

_ASSIGNMENT = re.compile(r"(?:[A-Za-z_][A-Za-z_0-9]*|BASH_FUNC_[^=]+)=")


@dataclass(frozen=True, slots=True)
class Prefix:
    """How to find the command in a wrapper's words.

    `short` are the short options that take a value, `long` the long ones that take it
    as a word of its own, `flags` those that take none; `operands` are the words that
    stand before the command.
    """

    short: str = ""
    long: frozenset[str] = frozenset()
    operands: int = 0
    assignments: bool = False
    flags: frozenset[str] = frozenset()


def _prefix(
    short: str = "", long: str = "", operands: int = 0, *, assignments: bool = False
) -> Prefix:
    return Prefix(short, frozenset(long.split()), operands, assignments)


_PREFIXES: Mapping[str, Prefix] = MappingProxyType(
    {
        "sudo": _prefix(
            "ghpCDRrtTuU",
            "user group host prompt chdir chroot role type close-from other-user "
            "command-timeout",
            assignments=True,
        ),
        "doas": _prefix("Cu"),
        "pkexec": _prefix("", "user"),
        "gosu": _prefix("", "", 1),
        "su-exec": _prefix("", "", 1),
        "setuidgid": _prefix("", "", 1),
        "runcon": _prefix("trul", "type user role range", 1),
        "env": _prefix("uCS", "unset chdir split-string", assignments=True),
        "nohup": _prefix(),
        "ssh-agent": _prefix("aEOPt"),
        "setsid": _prefix(),
        "builtin": _prefix(),
        "exec": _prefix("a"),
        "busybox": _prefix(),
        "toybox": _prefix(),
        "nice": _prefix("n", "adjustment"),
        "ionice": _prefix("cnpPu", "class classdata pid pgid uid"),
        "chrt": _prefix("TPD", "sched-runtime sched-period sched-deadline", 1),
        "taskset": _prefix("", "", 1),
        "timeout": _prefix("ks", "kill-after signal", 1),
        "time": _prefix("fo", "format output"),
        "stdbuf": _prefix("ioe", "input output error"),
        "chroot": _prefix("", "userspec groups", 1),
        "unshare": _prefix("SGRw", "setuid setgid root wd"),
        "nsenter": _prefix("tSGW", "target setuid setgid wdns"),
        "strace": _prefix("abeEIoOpPsSuUX", "output trace attach string-limit user"),
        "ltrace": _prefix("aADeFlnopsSuwx"),
        "valgrind": _prefix(),
        "setpriv": _prefix(
            "", "reuid regid groups ambient-caps inh-caps bounding-set securebits"
        ),
        "prlimit": _prefix("p", "pid"),
        "fakeroot": _prefix("lsb"),
        "eatmydata": _prefix(),
        "proxychains": _prefix("f"),
        "proxychains4": _prefix("f"),
        "torsocks": _prefix("aupP"),
        "torify": _prefix(),
        "sshpass": _prefix("fdpPe"),
        "dbus-run-session": _prefix("", "config-file dbus-daemon"),
        "xvfb-run": _prefix("efnpsw", "error-file auth-file server-num server-args"),
        "systemd-run": _prefix("HMpEutG", "unit property description slice uid gid"),
        "systemd-inhibit": _prefix("", "what who why mode"),
        "firejail": _prefix(),
        "bwrap": _prefix(
            "",
            "uid gid hostname chdir unsetenv lock-file sync-fd proc dev tmpfs dir "
            "remount-ro seccomp cap-add cap-drop",
        ),
        "choom": _prefix("np", "adjust pid"),
        "uclampset": _prefix("mMp", "pid"),
        "i386": _prefix(),
        "x86_64": _prefix(),
        "linux32": _prefix(),
        "linux64": _prefix(),
        "setarch": _prefix("", "", 1),
        "cgexec": _prefix("g"),
        "numactl": _prefix("CmNipP", "cpunodebind membind interleave physcpubind"),
        "faketime": _prefix("f", "", 1),
        "unbuffer": _prefix(),
        "rlwrap": _prefix("bcDefHilmOpqsStz"),
        "tini": _prefix("pe"),
        "dumb-init": _prefix(),
        "catchsegv": _prefix(),
        "noglob": _prefix(),
        "nocorrect": _prefix(),
        "chronic": _prefix(),
        "ifne": _prefix(),
        "hyperfine": _prefix("wrmMpSncui"),
        "caffeinate": _prefix("tw"),
        "start-stop-daemon": _prefix("axpunsgcdkNPIRT"),
        "daemonize": _prefix("acelopu"),
        "script": _prefix(),
        "flock": _prefix("wEc", "timeout wait conflict-exit-code command", 1),
        "entr": _prefix(),
        "gtimeout": _prefix("ks", "kill-after signal", 1),
        "uv": _prefix("", "project directory with python extra group", 1),
        "poetry": _prefix("C", "directory project", 1),
        "pipenv": _prefix("", "", 1),
        "bundle": _prefix("", "", 1),
        "rbenv": _prefix("", "", 1),
        "pyenv": _prefix("", "", 1),
        "direnv": _prefix("", "", 2),
        "conda": _prefix("np", "name prefix cwd", 1),
        "mamba": _prefix("np", "name prefix cwd", 1),
    }
)
"""Wrappers, with what stands between them and the command."""

_MAY_RUN = {
    "uv": "run",
    "poetry": "run",
    "pipenv": "run",
    "bundle": "exec",
    "rbenv": "exec",
    "pyenv": "exec",
    "direnv": "exec",
    "conda": "run",
    "mamba": "run",
}
"""Tools that run a command only with this word before it."""

_OWN = {"run": _prefix("", "role label"), "mcp": _prefix("", "name url listen")}
"""What of our own runs a command."""


def prefixed() -> Iterable[str]:
    """The names of the wrappers that `unwrap_prefix` knows."""
    return _PREFIXES.keys()


def unwrap_prefix(argv: Sequence[str], stdin: OutputTexts) -> Iterable[Inner]:  # noqa: ARG001  # one seam for all
    """The command after a wrapper's options and operands."""
    name = argv[0].rpartition("/")[2]
    wanted = _MAY_RUN.get(name)
    if wanted is not None and wanted not in argv[1:]:
        return
    yield from commands_after(argv, _PREFIXES[name])


def commands_after(argv: Sequence[str], prefix: Prefix) -> Iterable[Inner]:
    """The command in `argv`; two readings where an option is not known."""
    place, doubtful = _skip_options(argv, 1, prefix)
    place += prefix.operands
    yield from _words(argv, place, prefix)
    if doubtful:
        yield from _words(argv, place + 1, prefix)


def _skip_options(argv: Sequence[str], place: int, prefix: Prefix) -> tuple[int, bool]:
    """Where options end, and whether one of them is unknown, so may take a value."""
    doubtful = False
    while place < len(argv):
        word = argv[place]
        if word == "--":
            return place + 1, doubtful
        if len(word) < len("-x") or not word.startswith(("-", "+")):
            break
        place += 1
        if word.startswith("--"):
            name = word[2:]
            if name in prefix.long:
                place += 1
            elif "=" not in name and name not in _FLAGS:
                doubtful = True
        elif word[-1] in prefix.short and not any(
            each in prefix.short for each in word[1:-1]
        ):
            place += 1
    return place, doubtful


_FLAGS = frozenset(
    [
        "login",
        "non-interactive",
        "preserve-env",
        "set-home",
        "background",
        "shell",
        "stdin",
        "foreground",
        "preserve-status",
        "verbose",
        "fork",
        "wait",
        "ignore-environment",
        "null",
        "debug",
        "net",
        "uts",
        "ipc",
        "pid",
        "mount",
        "user",
        "cgroup",
        "map-root-user",
        "mount-proc",
        "all",
        "scope",
        "pty",
        "pipe",
        "quiet",
        "help",
        "version",
        "reset-timestamp",
        "exclusive",
        "shared",
        "nonblock",
        "nb",
        "close",
        "no-fork",
        "unblock",
    ]
)
"""Long options of the wrappers that take no value."""


def _words(argv: Sequence[str], place: int, prefix: Prefix) -> Iterable[Inner]:
    start = place
    if prefix.assignments:
        while place < len(argv) and _ASSIGNMENT.match(argv[place]):
            place += 1
    if place > start:
        yield Words(tuple(argv[start:]))
    if place < len(argv):
        yield Words(tuple(argv[place:]))


def unwrap_env(argv: Sequence[str], stdin: OutputTexts) -> Iterable[Inner]:
    """`env`, whose `-S` holds a command line in one word."""
    for place, word in enumerate(argv[1:], 1):
        if not word.startswith("-") and not _ASSIGNMENT.match(word):
            break
        if word.startswith("BASH_FUNC_"):
            yield Text(f"f {word.partition('=')[2]}", ("sh",))
        string = re.match(r"--split-string(?:=|$)|-[iv0]*S", word)
        if string:
            text, *others = (
                *filter(None, [word[string.end() :]]),
                *argv[place + 1 :],
                "",
            )
            split, rest = _unescaped(text), " ".join(others)
            yield Text(f"{'env ' if split.startswith('-') else ''}{split} {rest}")
            return
    if argv[1:2] in (["-"], ("-",)):
        argv = [argv[0], "-i", *argv[2:]]
    yield from unwrap_prefix(argv, stdin)
    for directory in option_values(argv[1:], ("-C", "--chdir")):
        for inner in unwrap_prefix(argv, stdin):
            if isinstance(inner, Words):
                yield Words(tuple(_placed(inner.argv, directory)))


def _unescaped(text: str) -> str:
    r"""What `env -S` reads otherwise than a shell: `\_` is a blank, `\c` the end."""
    return text.partition("\\c")[0].replace("\\_", " ").lstrip()


def _placed(argv: Sequence[str], directory: str) -> Iterator[str]:
    """Words, with the paths that those are which count from a directory."""
    for place, word in enumerate(argv):
        is_path = "/" in word if place == 0 else not word.startswith(("-", "$"))
        yield join(directory, word) if is_path and word[:1] != "~" else word


def unwrap_capsh(argv: Sequence[str], stdin: OutputTexts) -> Iterable[Inner]:  # noqa: ARG001  # one seam for all
    """`capsh -- …` and `capsh == …`: the words are a shell's."""
    for mark in ("--", "=="):
        if mark in argv:
            yield Words(("bash", *argv[argv.index(mark) + 1 :]))


def unwrap_perf(argv: Sequence[str], stdin: OutputTexts) -> Iterable[Inner]:  # noqa: ARG001  # one seam for all
    """`perf stat` and its like: the command behind the options."""
    if len(argv) > 1:
        long = frozenset(
            ["event", "output", "count", "freq", "cpu", "cgroup", "repeat", "delay"]
        )
        yield from commands_after(argv[1:], Prefix("eocFCGrDIjxmgptu", long))


def unwrap_redlane(argv: Sequence[str], stdin: OutputTexts) -> Iterable[Inner]:  # noqa: ARG001  # one seam for all
    """The command of `redlane run` and of `redlane mcp`."""
    prefix = _OWN.get(argv[1]) if len(argv) > 1 else None
    if prefix is not None:
        yield from commands_after(argv[1:], prefix)


def after_dashes(argv: Sequence[str], stdin: OutputTexts) -> Iterable[Inner]:  # noqa: ARG001  # one seam for all
    """The command after `--`, as in `op run -- command`."""
    if "--" in argv:
        rest = tuple(argv[argv.index("--") + 1 :])
        if rest:
            yield Words(rest)
