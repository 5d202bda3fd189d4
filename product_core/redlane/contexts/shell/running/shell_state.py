"""What a shell's commands have set, as text that sets it again.

A command is judged by what it means in its shell: `$x` is what an earlier command, or
a person who was asked, made it.
"""

import re

__all__ = ["ShellState"]

_PIECE = re.compile(rb"^(?=declare -|set --)|^(?=\S+ \(\) ?$)", re.MULTILINE)
_NAME = re.compile(rb"declare -\S+ ([A-Za-z_]\w*)|(\S+) \(\)")
_OWN = re.compile(
    rb"BASH\w*|COLUMNS|COMP_\w*|DIRSTACK|EPOCH\w+|EUID|FUNCNAME|GROUPS|HIST\w*|HOME|IFS"
    rb"|LINENO|LINES|OLDPWD|OPTIND|PIPESTATUS|PPID|PS\d|PWD|RANDOM|SECONDS|SHELL\w*"
    rb"|SHLVL|SRANDOM|UID|_"
)
_ARRAY = re.compile(rb"declare -\w*a\w* \w+=\(")
_INDEX = re.compile(rb"([( ])\[\d+\]=")
_LONGEST_PIECE, _LONGEST = 4096, 64 * 1024


class ShellState:
    """What has changed since the shell began."""

    def __init__(self) -> None:
        """Nothing is known before the first report."""
        self._first: frozenset[bytes] | None = None
        self.text = b""

    def take(self, report: bytes) -> None:
        """Take what `declare -p` and `declare -f` of the shell print."""
        pieces = [each for each in _PIECE.split(report) if each.strip()]
        if self._first is None:
            self._first = frozenset(pieces)
        changed = [
            each
            for each in pieces
            if each not in self._first and len(each) <= _LONGEST_PIECE and _counts(each)
        ]
        self.text = b"".join(map(_plain, changed))[:_LONGEST]


def _plain(piece: bytes) -> bytes:
    """An array as an assignment that has no indices."""
    if not _ARRAY.match(piece):
        return piece
    return _INDEX.sub(rb"\1", piece.partition(b" ")[2].partition(b" ")[2])


def _counts(piece: bytes) -> bool:
    """Whether a piece may change what a command means."""
    found = _NAME.match(piece)
    if found is None:
        return piece.startswith(b"set --")
    return not (found[1] and _OWN.fullmatch(found[1]))
