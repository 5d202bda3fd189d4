"""Variables whose value a shell or a well-known tool runs as a command."""

from collections.abc import Iterable, Sequence
from types import MappingProxyType

from redlane.contexts.shell.expansion.scope import OutputTexts
from redlane.contexts.shell.knowledge.inner import Code, File, Inner, Text

__all__ = ["unwrap_assignment", "unwrap_declaration"]

_COMMANDS = frozenset(
    [
        "PROMPT_COMMAND",
        "PAGER",
        "GIT_PAGER",
        "MANPAGER",
        "SYSTEMD_PAGER",
        "EDITOR",
        "VISUAL",
        "GIT_EDITOR",
        "GIT_SEQUENCE_EDITOR",
        "GIT_SSH_COMMAND",
        "GIT_SSH",
        "GIT_EXTERNAL_DIFF",
        "GIT_ASKPASS",
        "GIT_PROXY_COMMAND",
        "SSH_ASKPASS",
        "SUDO_ASKPASS",
        "LESSOPEN",
        "LESSCLOSE",
        "RSYNC_RSH",
        "CVS_RSH",
        "BROWSER",
        "FZF_DEFAULT_COMMAND",
        "RIPGREP_PREPROCESSOR",
        "MAKEFLAGS_SHELL",
        "PS0",
        "PS1",
        "PS2",
        "PS4",
        "TAR_OPTIONS",
        "TEST_COMMAND",
        "HOMEBREW_EDITOR",
        "RUSTC_WRAPPER",
        "CC",
        "CXX",
        "LD",
    ]
)
_PERL = frozenset({"PERL5DB", "PERL5OPT"})
_SCRIPTS = frozenset({"BASH_ENV", "ENV"})
_FUNCTION = MappingProxyType({"prefix": "BASH_FUNC_", "body": "() {"})


def unwrap_assignment(name: str, value: str) -> Iterable[Inner]:
    """What an assignment to `name` makes some later program run."""
    if name in _SCRIPTS:
        yield File(value, shared=True)
    elif name in _COMMANDS or name.startswith("GIT_CONFIG_VALUE_"):
        yield Text(value.lstrip("|!"), ("sh",), later=True)
    elif name in _PERL:
        yield Code("perl", value)
    elif value.startswith("!") and len(value) > 1:  # an alias for `git --config-env`
        yield Text(value[1:], ("sh",), later=True)
    elif name.startswith(_FUNCTION["prefix"]) or value.startswith(_FUNCTION["body"]):
        yield Text(f"f {value}", ("sh",), later=True)


def unwrap_declaration(argv: Sequence[str], stdin: OutputTexts) -> Iterable[Inner]:  # noqa: ARG001  # one seam for all
    """`export NAME=value` and its like."""
    for word in argv[1:]:
        name, sign, value = word.partition("=")
        if sign and value:
            yield from unwrap_assignment(name, value)
