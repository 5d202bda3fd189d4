"""What agents put around a command that their model gives: the text that they run.

It brings the shell into the state that the last one was in, and keeps what it ends in.
"""

import re
from typing import NamedTuple

__all__ = ["Framed", "unframed"]

_FILE = rb"/[A-Za-z0-9_./-]+"
"""A whole path: the command in the frame may change the directory."""

_FRAMES = tuple(
    re.compile(each, re.DOTALL)
    for each in (
        # Claude Code: a snapshot of the shell, the command, and the directory left in.
        rb"source " + _FILE + rb" 2>/dev/null \|\| true"
        rb"(?: && shopt -u [a-z]+ 2>/dev/null \|\| true)*"
        rb" && eval (?P<quoted>'(?:[^']|'\"'\"')*')"
        rb"(?: < /dev/null)?(?: && pwd -P >\| " + _FILE + rb")?",
        # Gemini CLI: a shell within, and what it leaves in the background.
        rb"shopt -u [a-z ]+; _bgpids_file=" + _FILE + rb"\n\(\n"
        rb"  trap 'jobs -p > \"\$_bgpids_file\"' EXIT\n(?P<command>.*)\n\)\n"
        rb"__code=\$\?\nexit \$__code",
        # opencode: the startup file first.
        rb"\. " + _FILE + rb"/\.[a-z]+rc\n(?P<command>.*)",
    )
)
_NOTHING = b":"


class Framed(NamedTuple):
    """A command, and the text that an agent runs, with `:` in the command's place."""

    command: bytes
    frame: bytes


def unframed(text: bytes) -> Framed | None:
    """The command in a text that an agent has made of it, or None."""
    for frame in _FRAMES:
        found = frame.fullmatch(text)
        if found is not None:
            group = "quoted" if "quoted" in frame.groupindex else "command"
            command = found[group]
            if group == "quoted":
                command = command[1:-1].replace(b"'\"'\"'", b"'")
            start, end = found.span(group)
            return Framed(command, text[:start] + _NOTHING + text[end:])
    return None
