"""Well-known commands and paths, for spellings that only a file system resolves."""

import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from posixpath import normpath

__all__ = ["ANY_PROGRAM", "is_odd", "known_directory", "spellings"]

_COMMANDS = (
    "rm",
    "rmdir",
    "unlink",
    "shred",
    "dd",
    "mkfs",
    "mkfs.ext4",
    "mkfs.xfs",
    "mke2fs",
    "wipefs",
    "blkdiscard",
    "fdisk",
    "parted",
    "sgdisk",
    "mkswap",
    "chmod",
    "chown",
    "chgrp",
    "chattr",
    "setfacl",
    "mv",
    "cp",
    "ln",
    "install",
    "truncate",
    "find",
    "fd",
    "xargs",
    "cat",
    "head",
    "tail",
    "less",
    "more",
    "tac",
    "nl",
    "od",
    "xxd",
    "strings",
    "base64",
    "cut",
    "sort",
    "grep",
    "egrep",
    "rg",
    "awk",
    "gawk",
    "sed",
    "tee",
    "curl",
    "wget",
    "nc",
    "ncat",
    "netcat",
    "socat",
    "ssh",
    "scp",
    "sftp",
    "rsync",
    "telnet",
    "ftp",
    "python",
    "python3",
    "perl",
    "ruby",
    "node",
    "php",
    "lua",
    "bash",
    "sh",
    "dash",
    "zsh",
    "ksh",
    "env",
    "sudo",
    "su",
    "doas",
    "crontab",
    "at",
    "batch",
    "git",
    "kill",
    "pkill",
    "killall",
    "redlane",
    "redlane-sh",
    "shutdown",
    "reboot",
    "halt",
    "poweroff",
    "init",
    "systemctl",
    "service",
    "iptables",
    "nft",
    "mount",
    "umount",
    "useradd",
    "usermod",
    "userdel",
    "passwd",
    "visudo",
    "docker",
    "podman",
    "kubectl",
    "busybox",
    "insmod",
    "modprobe",
    "rmmod",
    "gdb",
    "strace",
    "tar",
    "zip",
    "eval",
    "exec",
)
_PATHS = (
    "/etc/shadow",
    "/etc/passwd",
    "/etc/sudoers",
    "/dev/sda",
    "/dev/nvme0n1",
    "~/.ssh",
    "~/.ssh/id_rsa",
    "~/.ssh/id_ed25519",
    "~/.ssh/id_ecdsa",
    "~/.ssh/authorized_keys",
    "~/.aws/credentials",
    "~/.config/gcloud/credentials.db",
    "~/.kube/config",
    "~/.docker/config.json",
    "~/.netrc",
    "~/.npmrc",
    "~/.pypirc",
    "~/.git-credentials",
    "~/.gnupg",
    "~/.bashrc",
    "~/.profile",
    "~/.redlane",
    "~/.redlane/settings.json",
    "~/.redlane/policies",
    ".env",
)
ANY_PROGRAM = (
    *("rm", "mv", "cp", "cat", "chmod", "chown", "dd", "find", "ln", "curl", "wget"),
    *("nc", "ssh", "scp", "rsync", "git", "docker", "kubectl", "sudo", "bash"),
)
"""What a command whose name cannot be told is judged as."""

_EXTENDED = re.compile(r"[@?+*!]\(([^()]*)\)")
_CLASSES = {
    "lower": "a-z",
    "upper": "A-Z",
    "alpha": "A-Za-z",
    "alnum": "A-Za-z0-9",
    "digit": "0-9",
    "punct": "._-",
    "graph": "!-~",
    "print": " -~",
    "word": "A-Za-z0-9_",
}
_MOST_EXTENDED = 4
_GLOB = re.compile(r"[*?\[]|[@+!]\(")
_CROOKED = re.compile(r"(?<!:)//|/\.{1,2}(?:/|$)")
_SET_OFF = re.compile(r"\[[^]]*\]|[*?]")
_ODD = re.compile(r"[/*?\[(]")
_MOST = 32
_LONGEST_PATH = 1024


def is_odd(text: str) -> bool:
    """Whether anything in `text` may have other spellings."""
    return _ODD.search(text) is not None


def _is_glob(word: str) -> bool:
    """Whether a word is a pattern; what is longer than a path is none."""
    return len(word) <= _LONGEST_PATH and _GLOB.search(word) is not None


def spellings(argv: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Other words that mean the same: a command's base name, globs, crooked paths."""
    name, rest = argv[0], tuple(argv[1:])
    names = [name]
    if "/" in name:
        names.append(name.rpartition("/")[2])
        yield (names[-1], *rest)
    if _is_glob(name):
        pattern = names[-1]
        found = [each for each in _COMMANDS if _matches(each, pattern)]
        yield from ((each, *rest) for each in found[:_MOST])
        names = found or names
    command = names[-1]
    joined = "\0".join(rest)
    if _CROOKED.search(joined):
        rest = tuple(_straight(each) for each in rest)
        yield (command, *rest)
    if _GLOB.search(joined):
        yield from _globbed(command, rest)


def _globbed(command: str, rest: tuple[str, ...]) -> Iterable[tuple[str, ...]]:
    """Arguments with globs, as the well-known paths that they could stand for.

    A glob alone in its place, such as `~/*`, means everything and is left as it is.
    """
    for place, word in enumerate(rest):
        if "/" not in word or not _is_glob(word) or not _SET_OFF.sub("", word):
            continue
        for path in _PATHS:
            if path.count("/") == word.count("/") and _matches(path, word):
                yield (command, *rest[:place], path, *rest[place + 1 :])


def known_directory(word: str) -> str:
    """The well-known directory that a glob may stand for; any other word is itself."""
    if not _is_glob(word):
        return word
    wanted = word.rstrip("/")
    for path in _PATHS:
        if path.count("/") == wanted.count("/") and _matches(path, wanted):
            return path
    return word


def _matches(path: str, glob: str) -> bool:
    """Whether a glob fits, with bash's classes and extended globs."""
    return any(fnmatchcase(path, each) for each in _simple_globs(glob))


def _simple_globs(glob: str) -> list[str]:
    """Globs without classes and alternatives that together mean the same, or more."""
    for name, members in _CLASSES.items():
        glob = glob.replace(f"[:{name}:]", members)
    found = [glob.replace("[^", "[!")]
    for _ in range(_MOST_EXTENDED):
        first = _EXTENDED.search(found[0])
        if first is None:
            return found
        kind = first[0][0]
        choices = first[1].split("|") if kind != "!" else ["*"]
        if kind in "?*":
            choices.append("")
        if kind in "+*":
            choices.append("*")
        found = [each.replace(first[0], one) for each in found for one in choices]
        if len(found) > _MOST:
            break
    return [_EXTENDED.sub("*", each) for each in found[:_MOST]]


def _straight(word: str) -> str:
    """A path without `//`, `/./` and `/../`; an address stays as it is."""
    if "://" in word or not _CROOKED.search(word):
        return word
    head, sign, path = word.rpartition("=") if word.startswith("-") else ("", "", word)
    if path.startswith("~/"):
        straight = normpath("/~" + path[1:]).removeprefix("/")
        return head + sign + (straight if straight.startswith("~") else "/" + straight)
    return head + sign + normpath(path).replace("//", "/", 1)
