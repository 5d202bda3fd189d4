"""What the environment could make a shell do besides the command is taken out."""

import os

__all__ = ["UNSAFE", "clean_environment"]

UNSAFE = frozenset(
    b"BASH_ENV ENV SHELLOPTS BASHOPTS BASH_COMPAT POSIXLY_CORRECT PROMPT_COMMAND PS0 "
    b"PS1 PS2 PS4 BASH_XTRACEFD BASH_LOADABLES_PATH CDPATH EXECIGNORE GLOBIGNORE "
    b"HISTFILE HISTFILESIZE histchars TEXTDOMAIN TEXTDOMAINDIR LOCPATH NLSPATH "
    b"GCONV_PATH GLIBC_TUNABLES".split()
)
"""The reason for each stands in the table of `redlane/wrapper/environment.c`."""

_PREFIXES = (b"BASH_FUNC_", b"LD_")


def clean_environment() -> dict[bytes, bytes]:
    """The environment that the shell gets."""
    return {
        name: value
        for name, value in os.environb.items()
        if name not in UNSAFE and not name.startswith(_PREFIXES)
    }
