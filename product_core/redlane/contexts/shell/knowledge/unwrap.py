"""Which command runs what: the table from names to unwrapping."""

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from redlane.contexts.shell.knowledge import (
    code,
    little_languages,
    shells,
    tools,
    variables,
    wrappers,
)
from redlane.contexts.shell.knowledge.inner import Unwrap

__all__ = ["is_plain", "unwrapper"]

_LOADER = re.compile(r"ld(?:-[\w-]+)?\.so(?:\.\d+)?|ld-musl-\w+\.so\.1")

_UNWRAPPERS: Mapping[str, Unwrap] = MappingProxyType(
    {
        **dict.fromkeys(wrappers.prefixed(), wrappers.unwrap_prefix),
        **dict.fromkeys(tools.OPTION_STRINGS, tools.unwrap_option_strings),
        **dict.fromkeys(shells.SHELLS, shells.unwrap_shell),
        **dict.fromkeys(
            ("op", "aws-vault", "dotenv", "mise", "doppler", "chamber", "heroku"),
            wrappers.after_dashes,
        ),
        "redlane": wrappers.unwrap_redlane,
        **dict.fromkeys(
            ("docker", "podman", "nerdctl", "docker-compose", "kubectl", "oc", "lxc"),
            tools.unwrap_container,
        ),
        **dict.fromkeys(
            ("vim", "vi", "nvim", "view", "ex", "gvim", "vimdiff", "ed", "gdb", "lldb"),
            tools.unwrap_editor,
        ),
        **dict.fromkeys(
            ("sqlite3", "mysql", "psql", "ftp"),
            tools.unwrap_editor,
        ),
        **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), code.unwrap_awk),
        **dict.fromkeys(("at", "batch"), shells.unwrap_input),
        **dict.fromkeys(("su", "runuser"), shells.unwrap_su),
        **dict.fromkeys(("make", "gmake"), tools.unwrap_make),
        **dict.fromkeys(("tmux", "screen"), tools.unwrap_tmux),
        **dict.fromkeys(("nc", "ncat", "netcat"), tools.unwrap_netcat),
        **dict.fromkeys(("fd", "fdfind"), tools.unwrap_fd),
        **dict.fromkeys(("ssh", "autossh", "mosh"), shells.unwrap_remote),
        **dict.fromkeys((".", "source"), shells.unwrap_source),
        **dict.fromkeys(
            ("export", "declare", "typeset", "readonly", "local"),
            variables.unwrap_declaration,
        ),
        **dict.fromkeys(
            little_languages.LITTLE_LANGUAGES, little_languages.unwrap_little_language
        ),
        **dict.fromkeys(("sg", "newgrp"), shells.unwrap_sg),
        "capsh": wrappers.unwrap_capsh,
        "perf": wrappers.unwrap_perf,
        "bind": tools.unwrap_bind,
        "sed": code.unwrap_sed,
        "eval": shells.unwrap_eval,
        "trap": shells.unwrap_trap,
        "alias": shells.unwrap_alias,
        "command": shells.unwrap_command,
        "env": wrappers.unwrap_env,
        "script": shells.unwrap_string_option,
        "flock": shells.unwrap_flock,
        "watch": shells.unwrap_watch,
        "xargs": shells.unwrap_xargs,
        "parallel": shells.unwrap_parallel,
        "find": tools.unwrap_find,
        "git": tools.unwrap_git,
        "crontab": tools.unwrap_crontab,
        "socat": tools.unwrap_socat,
    }
)


@lru_cache(maxsize=1024)
def unwrapper(name: str) -> Unwrap | None:
    """How to unwrap the command whose base name is `name`, if it runs others."""
    found = _UNWRAPPERS.get(name)
    if found is not None:
        return found
    if code.interpreter_of(name):
        return code.unwrap_interpreter
    return tools.unwrap_loader if _LOADER.fullmatch(name) else None


def is_plain(name: str) -> bool:
    """Whether a command by this name can hold no other."""
    return unwrapper(name) is None
