"""What the environment could make a shell do besides the command is taken out.

The reason for each name stands in the table of wrapper/environment.c.
"""

import posix

__all__ = ["UNSAFE", "clean_environment"]

UNSAFE = frozenset(
    b"BASH_ENV ENV SHELLOPTS BASHOPTS BASH_COMPAT POSIXLY_CORRECT PROMPT_COMMAND PS0 "
    b"PS1 PS2 PS4 BASH_XTRACEFD BASH_LOADABLES_PATH CDPATH EXECIGNORE GLOBIGNORE "
    b"HISTFILE HISTFILESIZE histchars TEXTDOMAIN TEXTDOMAINDIR LOCPATH NLSPATH "
    b"GCONV_PATH GLIBC_TUNABLES".split()
)
_PREFIXES = (b"BASH_FUNC_", b"LD_")


def clean_environment() -> dict[bytes, bytes]:
    """The environment that the shell gets."""
    return {
        name: value
        for name, value in posix.environ.items()
        if name not in UNSAFE and not name.startswith(_PREFIXES)
    }
