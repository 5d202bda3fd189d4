"""Programs whose own little languages can start a command: dc, m4, roff, Tcl."""

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from redlane.contexts.shell.expansion.scope import OutputTexts
from redlane.contexts.shell.knowledge.inner import Inner, Text, option_values

__all__ = ["LITTLE_LANGUAGES", "commands_in_tcl", "unwrap_little_language"]

_ROFF = re.compile(r"^[.'][ \t]*(?:sy|pso|pi|!)[ \t]+(.+)$", re.MULTILINE)
_DC = re.compile(r"!([^\n<=>][^\n]*)")
_M4 = re.compile(r"\be?syscmd\(\s*`?([^')]*)")
_TCL = re.compile(
    r"""(?:^|[;\[{\n"])\s*(?:exec|spawn|system|open\s+["{]?\|)\s*"""
    r"""(?:-\w+\s+)*(?:--\s+)?([^\]\n;}]+)"""
)

LITTLE_LANGUAGES: Mapping[str, "re.Pattern[str]"] = MappingProxyType(
    {
        **dict.fromkeys(("groff", "troff", "nroff", "ditroff", "gtroff"), _ROFF),
        "dc": _DC,
        **dict.fromkeys(("m4", "gm4"), _M4),
    }
)
"""How a command stands in a program, by the name of what runs the program."""


def unwrap_little_language(argv: Sequence[str], stdin: OutputTexts) -> Iterable[Inner]:
    """The commands in a program that is given in options, or on the input."""
    pattern = LITTLE_LANGUAGES[argv[0].rpartition("/")[2]]
    texts = (*option_values(argv[1:], ("-e", "--expression")), *stdin.texts())
    for text in texts:
        yield from (Text(each, ("sh",)) for each in pattern.findall(text))


def commands_in_tcl(text: str) -> Iterable[Inner]:
    """What `exec`, `spawn` and `open |` start."""
    for found in _TCL.findall(text):
        yield Text(found.strip().rstrip('"}'), ("sh",))
