r"""A text that a regular expression may match, told from its letters.

Not each can be told so, and nothing rests on it: whoever asks matches what comes out.
"""

import re

__all__ = ["example_of"]

_TOKEN = re.compile(
    r"""
    (?P<edge> \\[bBAzZG<>] | [\^$] | \(\?[a-zA-Z-]+\) )
    | \[\^ (?P<others> \]? (?:\\. | [^\]\\])* ) \]
    | \[ (?P<one_of> \]? (?:\\. | [^\]\\])* ) \]
    | \\ (?P<escape> [pP]\{[^}]*\} | . )
    | (?P<times> [*+?]\?? | \{\d*,?\d*\}\?? )
    | (?P<any> \. )
    | (?P<open> \( (?: \?(?:P?<\w+>|[a-zA-Z-]*:) )? )
    | (?P<syntax> [()|] )
    | (?P<plain> . )
    """,
    re.VERBOSE | re.DOTALL,
)
_CLASSES = {"s": " ", "w": "a", "S": "a", "d": "1", "W": " ", "D": "a", "t": "\t"}
_GROUP = re.compile(r"\(([^()|]*)(?:\|[^()]*)?\)")
_SYNTAX, _LETTERS = "()|", "\ue000\ue001\ue002"
_KEPT = str.maketrans(_SYNTAX, _LETTERS)
_BACK = str.maketrans(_LETTERS, _SYNTAX)
"""What means itself, though it looks like syntax, stands for it meanwhile."""


def example_of(pattern: str) -> str:
    """The first alternative of each choice, and each repeat once."""
    outline = "".join(map(_outline, _TOKEN.finditer(pattern)))
    while (simpler := _GROUP.sub(r"\1", outline)) != outline:
        outline = simpler
    return outline.partition("|")[0].translate(_BACK)


def _outline(token: re.Match[str]) -> str:
    kind = token.lastgroup
    if kind in ("open", "syntax"):
        return token[0][0]
    if kind in ("edge", "times"):
        return ""
    text = "a"
    if kind == "plain":
        text = token[0]
    elif kind == "escape":
        text = _CLASSES.get(token["escape"], token["escape"][0])
    elif kind == "one_of" and token["one_of"]:
        first = token["one_of"]
        text = _CLASSES.get(first[1:2], first[1:2]) if first[0] == "\\" else first[0]
    return text.translate(_KEPT)
