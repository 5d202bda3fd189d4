"""Tools that run commands given in their options: find, git, tar, vim and more."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType

from redlane.contexts.shell.expansion.scope import OutputTexts
from redlane.contexts.shell.knowledge.inner import (
    Code,
    Inner,
    Text,
    Words,
    option_values,
)
from redlane.contexts.shell.knowledge.wrappers import Prefix, commands_after

__all__ = [
    "OPTION_STRINGS",
    "unwrap_bind",
    "unwrap_container",
    "unwrap_crontab",
    "unwrap_editor",
    "unwrap_fd",
    "unwrap_find",
    "unwrap_git",
    "unwrap_loader",
    "unwrap_make",
    "unwrap_netcat",
    "unwrap_option_strings",
    "unwrap_socat",
    "unwrap_tmux",
]

OPTION_STRINGS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "tar": (
            "-F",
            "-I",
            "--checkpoint-action",
            "--info-script",
            "--new-volume-script",
            "--rsh-command",
            "--to-command",
            "--use-compress-program",
        ),
        "bsdtar": ("--use-compress-program",),
        "rsync": ("-e", "--rsh", "--rsync-path"),
        "scp": ("-S", "-o"),
        "sftp": ("-S", "-o"),
        "sort": ("--compress-program",),
        "rg": ("--pre", "--hostname-bin"),
        "ag": ("--pager",),
        "man": ("-P", "--pager", "-H", "--html"),
        "zip": ("-TT", "--unzip-command"),
        "split": ("--filter",),
        "tcpdump": ("-z",),
        "wget": ("--use-askpass",),
        "mapfile": ("-C",),
        "readarray": ("-C",),
        "complete": ("-C",),
        "compgen": ("-C",),
        "logrotate": ("-m", "--mail"),
        "nix-shell": ("--run", "--command"),
        "pg_dump": (),
        "cpio": ("--rsh-command",),
        "ip": (),
        "less": ("+!",),
        "npm": ("--script-shell", "-c", "--call"),
        "npx": ("-c", "--call"),
        "rpm": ("--pipe",),
        "xterm": ("-e",),
        "apt-get": ("-o",),
        "apt": ("-o",),
        "dpkg": ("--pre-invoke", "--post-invoke"),
    }
)
"""Options whose value is a command string, by the tool."""

_RUN_BY_VALUE = re.compile(
    r"(?:exec=|(?i:proxycommand|localcommand)[ =]|[A-Za-z:]+-Invoke(?:::)?=)"
)
_GIT_COMMANDS = re.compile(
    r"(?i)(?:core\.(?:pager|editor|sshcommand|fsmonitor|askpass|hookspath|gitproxy)"
    r"|pager\..*|sequence\.editor|diff\..*|difftool\..*|mergetool\..*|merge\..*\.driver"
    r"|credential\..*|filter\..*|gpg\..*|interactive\.difffilter|uploadpack\..*"
    r"|remote\..*\.(?:uploadpack|receivepack)|sendemail\..*|man\..*|browser\..*"
    r"|trailer\..*|tar\..*|ssh\..*|alias\..*)"
)
_GIT_STRINGS = ("-x", "--exec", "--extcmd", "--upload-pack", "--receive-pack")
_GIT_FILTERS = tuple(
    f"--{each}-filter"
    for each in ("env", "tree", "index", "msg", "commit", "parent", "tag-name")
)
_FILTERED = frozenset(
    [
        "-name",
        "-iname",
        "-path",
        "-ipath",
        "-regex",
        "-mtime",
        "-mmin",
        "-size",
        "-newer",
    ]
)
_CRON_LINE = re.compile(r"\s*(?:@\w+|(?:\S+\s+){4}\S+)\s+(.+)")
_CONTAINER = Prefix(
    "aehlmpuvwcn",
    frozenset(
        [
            "add-host",
            "cpus",
            "device",
            "dns",
            "entrypoint",
            "env",
            "env-file",
            "gpus",
            "hostname",
            "label",
            "log-driver",
            "memory",
            "mount",
            "name",
            "network",
            "pid",
            "platform",
            "publish",
            "restart",
            "user",
            "volume",
            "workdir",
            "cap-add",
            "cap-drop",
            "security-opt",
            "ulimit",
            "tmpfs",
            "shm-size",
            "volumes-from",
            "ipc",
            "container",
            "namespace",
            "context",
        ]
    ),
    1,
)


def unwrap_option_strings(argv: Sequence[str], stdin: OutputTexts) -> Iterable[Inner]:  # noqa: ARG001  # one seam for all
    """The values of the options that hold command strings."""
    name = argv[0].rpartition("/")[2]
    for value in option_values(argv[1:], OPTION_STRINGS[name]):
        marked = _RUN_BY_VALUE.match(value)
        if marked or name not in ("apt", "apt-get"):
            yield Text(value[marked.end() :] if marked else value, ("sh",))


def unwrap_find(argv: Sequence[str], stdin: OutputTexts) -> Iterable[Inner]:  # noqa: ARG001  # one seam for all
    """`-exec` and its like; `{}` stands for the start where nothing is filtered."""
    starts = []
    for word in argv[1:]:
        if word.startswith(("-", "(", "!")):
            break
        starts.append(word)
    narrowed = any(word in _FILTERED for word in argv)
    for place, word in enumerate(argv):
        if word not in ("-exec", "-execdir", "-ok", "-okdir"):
            continue
        rest = list(argv[place + 1 :])
        ends = [rest.index(mark) for mark in (";", "+") if mark in rest]
        command = rest[: min(ends)] if ends else rest
        if command:
            yield Words(tuple(command))
        for start in () if narrowed or not command else starts:
            yield Words(tuple(each.replace("{}", start) for each in command))


def unwrap_fd(argv: Sequence[str], stdin: OutputTexts) -> Iterable[Inner]:  # noqa: ARG001  # one seam for all
    """`fd -x command` and `fd -X command`."""
    for place, word in enumerate(argv):
        if word in ("-x", "-X", "--exec", "--exec-batch") and argv[place + 1 :]:
            yield Words(tuple(argv[place + 1 :]))


def unwrap_git(argv: Sequence[str], stdin: OutputTexts) -> Iterable[Inner]:  # noqa: ARG001  # one seam for all
    """Commands in git's configuration, aliases, filters and subcommands."""
    words = list(argv[1:])
    for place, word in enumerate(words):
        following = words[place + 1] if place + 1 < len(words) else ""
        if word in ("-c", "--config") or word.startswith(("-c", "--config=")):
            setting = following if word in ("-c", "--config") else word
            key, _, value = setting.removeprefix("--config=").partition("=")
            yield from _git_setting(key.removeprefix("-c"), value)
        elif _GIT_COMMANDS.fullmatch(word):
            yield from _git_setting(word, following)
        elif word.startswith("ext::"):
            yield Text(word.removeprefix("ext::"), ("sh",))
        elif word.startswith("-O") and "grep" in words[:place]:
            yield Text(word[2:], ("sh",))
    for text in option_values(words, (*_GIT_STRINGS, *_GIT_FILTERS)):
        yield Text(text, ("sh",))
    yield from _git_subcommands(words)


def _git_setting(key: str, value: str) -> Iterable[Inner]:
    if not value or not _GIT_COMMANDS.fullmatch(key):
        return
    if key.lower().startswith("alias.") and not value.startswith("!"):
        yield Words(("git", *value.split()))
    else:
        yield Text(value.removeprefix("!"), ("sh",))


def _git_subcommands(words: list[str]) -> Iterable[Inner]:
    if "submodule" in words and "foreach" in words:
        rest = [
            each
            for each in words[words.index("foreach") + 1 :]
            if each not in ("--recursive", "-q", "--quiet")
        ]
        if rest:
            yield Text(" ".join(rest), ("sh",))
    if "bisect" in words and "run" in words:
        rest = words[words.index("run") + 1 :]
        if rest:
            yield Words(tuple(rest))


def unwrap_container(argv: Sequence[str], stdin: OutputTexts) -> Iterable[Inner]:
    """`docker exec|run …`, `kubectl exec …`: the command after the container."""
    for place, word in enumerate(argv[1:], 1):
        if word in ("exec", "run"):
            if "--" in argv[place:]:
                yield Words(
                    tuple(argv[place + argv[place:].index("--") + 1 :]) or (":",)
                )
            else:
                yield from commands_after(argv[place:], _CONTAINER)
            for entry in option_values(argv[place:], ("--entrypoint",)):
                yield Words((entry, *argv[-2:]))
            break
    _ = stdin


def unwrap_editor(argv: Sequence[str], stdin: OutputTexts) -> Iterable[Inner]:
    """Shell escapes in what vim, ed, gdb, sqlite3 and the like are given or read."""
    scripts = [
        following if word.startswith("-") else word.removeprefix("+")
        for word, following in pairwise((*argv[1:], ""))
    ]
    scripts += [line for text in stdin.texts() for line in text.splitlines()]
    for script in scripts:
        code = re.match(r"(?s)\s*(?:py(?:thon|3|thon3)?)\s+(.+)", script)
        if code:
            yield Code("python", code[1])
        found = re.match(
            r"(?s)\s*:?\s*(?:silent!?\s+)?"
            r"(?:!|\\!|\.(?:shell|system)\s|shell\s|platform shell\s|r\s*!"
            r"|call system\(|pipe .*?\||\.(?:once|output|o|excel)\s[^|]*\|)"
            r"\s*[\"']?(.+)",
            script,
        )
        if found:
            yield Text(found[1].rstrip("\"')"), ("sh",))
            yield Text(found[1], ("sh",))


def unwrap_bind(argv: Sequence[str], stdin: OutputTexts) -> Iterable[Inner]:  # noqa: ARG001  # one seam for all
    """`bind -x '"KEYS": COMMAND'`: what the shell runs when these are typed."""
    for value in option_values(argv[1:], ("-x",)):
        yield Text(value.rpartition('":')[2], later=True)


def unwrap_make(argv: Sequence[str], stdin: OutputTexts) -> Iterable[Inner]:
    """Recipes given by `--eval` or on the input."""
    for word in argv[1:]:
        if word.startswith("SHELL="):
            yield Text(word.partition("=")[2], ("sh",))
    texts = list(option_values(argv[1:], ("--eval", "-E")))
    if "-" in argv or "-f-" in argv or "/dev/stdin" in argv:
        texts += stdin.texts()
    for text in texts:
        for line in re.split(r"[\n;]", text):
            found = re.match(r"\s*[@+-]*\s*(.+)", line)
            if found:
                yield Text(found[1].replace("$$", "$"), ("sh",))
        for called in re.findall(r"\$\(shell\s+([^)]*)\)", text):
            yield Text(called, ("sh",))


def unwrap_crontab(argv: Sequence[str], stdin: OutputTexts) -> Iterable[Inner]:  # noqa: ARG001  # one seam for all
    """The commands of a crontab that is given on the input."""
    for text in stdin.texts():
        for line in text.splitlines():
            found = _CRON_LINE.match(line)
            if found:
                yield Text(found[1], ("sh",))


def unwrap_tmux(argv: Sequence[str], stdin: OutputTexts) -> Iterable[Inner]:  # noqa: ARG001  # one seam for all
    """`tmux` and `screen`: words that hold a command, and keys that are typed."""
    typed = [each for each in argv[1:] if each not in ("Enter", "C-m", "^M")]
    for place, word in enumerate(typed):
        if " " in word:
            yield Text(word.removesuffix("\\n").removesuffix("^M"), ("sh",))
        elif place and not word.startswith("-"):
            yield Words(tuple(typed[place:]))


def unwrap_netcat(argv: Sequence[str], stdin: OutputTexts) -> Iterable[Inner]:  # noqa: ARG001  # one seam for all
    """`nc -e program` and `ncat -c string`."""
    options = ("-e", "-c", "--exec", "--sh-exec", "--lua-exec")
    for value in option_values(argv[1:], options):
        yield Text(value, ("sh",))


def unwrap_socat(argv: Sequence[str], stdin: OutputTexts) -> Iterable[Inner]:  # noqa: ARG001  # one seam for all
    """`socat`'s addresses EXEC and SYSTEM."""
    for word in argv[1:]:
        found = re.match(r"(?is)(?:exec|system|shell):(.+)", word)
        if found:
            yield Text(found[1].partition(",")[0].strip("'\""), ("sh",))


def unwrap_loader(argv: Sequence[str], stdin: OutputTexts) -> Iterable[Inner]:  # noqa: ARG001  # one seam for all
    """The dynamic loader, which runs the program in its first operand."""
    prefix = Prefix(
        "", frozenset({"library-path", "inhibit-rpath", "argv0", "preload"})
    )
    yield from commands_after(argv, prefix)
