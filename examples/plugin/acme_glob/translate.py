"""Globs as regular expressions that match one line."""

import re

__all__ = ["GlobError", "translate"]

_HOME = r"(?:~[^/\n]*|\$HOME|\$\{HOME\}|/home/[^/\n]+|/root)"
"""What a shell, a script or a program may write for somebody's home."""

_TOKEN = re.compile(
    r"""(?P<tail>/\*\*\Z)             # a directory and everything in it
    |(?P<within>(?:\A|(?<=/))\*\*/)   # any number of directories, none included
    |(?P<all>\*\*)|(?P<some>\*)|(?P<one>\?)
    |\[(?P<not>[!^])?(?P<set>\]?[^]]*)\]
    |(?P<open>\[)
    |\\(?P<escaped>.)
    |(?P<plain>.)""",
    re.VERBOSE | re.DOTALL,
)


class GlobError(ValueError):
    """A glob that cannot be used; the message says why in one line."""


def translate(glob: str) -> str:
    """The regular expression of a glob, for Redlane's engine (RE2).

    `*` and `?` stay within a part of a path, `**` does not. A glob without a slash is
    about the last part of a path: `*.pem` means every such file, wherever it is.
    """
    if not glob:
        raise GlobError("an empty glob matches nothing")
    if not glob.isprintable():
        raise GlobError(f"{glob!r} has characters that no line shows")
    rest, start = glob, ""
    if glob == "~" or glob.startswith("~/"):
        rest, start = glob[1:], _HOME
    elif "/" not in glob:
        start = r"(?:.*/)?"
    return start + "".join(_piece(match, glob) for match in _TOKEN.finditer(rest))


def _piece(match: re.Match[str], glob: str) -> str:
    fixed = {
        "tail": r"(?:/.*)?",
        "within": r"(?:.*/)?",
        "all": r".*",
        "some": r"[^/\n]*",
        "one": r"[^/\n]",
    }
    kind = match.lastgroup or "plain"
    if kind in fixed:
        return fixed[kind]
    if kind == "open":
        raise GlobError(f"{glob!r} opens a [ that nothing closes: write \\[ for one")
    if kind == "set":
        return _character_class(match["set"], glob, negated=match["not"] is not None)
    return _literal(match["escaped"] or match["plain"])


def _character_class(members: str, glob: str, *, negated: bool) -> str:
    if not members:
        raise GlobError(f"{glob!r} has an empty set: name what it may be")
    inside = "".join(each if each == "-" else _literal(each) for each in members)
    # A set never reaches into another part of the path.
    return rf"[^/\n{inside}]" if negated else rf"[{inside}]"


def _literal(character: str) -> str:
    """A character as itself: only signs have a meaning, and only they are escaped."""
    is_sign = character.isascii() and not character.isalnum() and character not in "_ "
    return f"\\{character}" if is_sign else character
