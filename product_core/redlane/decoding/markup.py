"""HTML, XML and SVG cut into what can be read in them, in one linear pass.

A parser builds the tree that a browser would show, and takes the square of a page that
nests deep or misnests on purpose. What can reach a model needs no tree: every text,
comment and attribute, shown or hidden. So this follows HTML's own tokenizer, and what a
browser would drop (an unfinished tag) is kept.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

from redlane.decoding.scanning import rounds

__all__ = ["Markup", "read_markup"]

_NAME = r"/?[a-zA-Z][^\s/>]*+"
_VALUE = r"""(?:\s*+=\s*+(?:"[^"]*+"?+|'[^']*+'?+|[^\s>"'][^\s>]*+|)|)"""
_ATTRIBUTES = rf"(?:[\s/]++|[^\s/>][^\s/>=]*+{_VALUE}|)*+"
_RAW = "script|style|title|textarea|xmp|iframe|noembed|noframes"
_TOKEN = re.compile(
    rf"""
    <(?:
        (?:(?=[iInNsStTxX])(?=((?i:{_RAW}))[\s/>])|) ({_NAME}) ({_ATTRIBUTES}) >?+
        (?(1) ((?: [^<]++ | <(?!/(?i:\1)[\s/>]) | )*+) )
      | !--(?: -?> | ((?: [^-]++ | -(?!-!?>) | )*+) (?:--!?>|) )
      | !\[CDATA\[ ((?: [^\]]++ | \](?!\]>) | )*+) (?:\]\]>|)
      | [!?/] ([^>]*+) >?+
    )
    """,
    re.VERBOSE,
)
_GROUPS = _TOKEN.groups + 1

_ATTRIBUTE = re.compile(
    r"""
    ([^\s/>][^\s/>=]*+)
    (?: \s*+=\s*+ (?: "([^"]*+)"?+ | '([^']*+)'?+ | ([^\s>"'][^\s>]*+) | ) | )
    """,
    re.VERBOSE,
)
_VALUES = _ATTRIBUTE.groups + 1


def _names(line: str) -> frozenset[str]:
    return frozenset(line.split())


_INLINE = _names(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd mark nobr "
    "q rb rp rt ruby s samp small span strike strong sub sup time tt u var wbr "
    "tspan"
)
"""Elements whose borders are no borders of words: `ig<b>nore</b>` reads "ignore"."""

_READ = frozenset(["title", "textarea", "xmp", "iframe", "noembed", "noframes"])
"""Elements whose text is no markup and is not run, but read."""

_SPOKEN = _names(
    "abbr accesskey alt aria-description aria-label aria-placeholder "
    "aria-roledescription aria-valuetext cite content datetime default desc "
    "description download label name placeholder prompt srcdoc standby summary text "
    "title value"
)
"""Attributes that are written to be read; and `data-…`, whatever that is for."""

_SILENT = _names(
    "allowfullscreen async autofocus autoplay checked controls default defer disabled "
    "hidden inert ismap itemscope loop multiple muted nomodule novalidate open "
    "playsinline readonly required reversed selected"
)
"""Attributes that say what they say without a value."""


_BORDER = "\v"
"""Stands where a tag ends a word, or may; white space that nobody writes."""

_TIGHT = re.compile(rf"{_BORDER}(?<=\w.){_BORDER}*+\w")


_KEPT = 1_024
"""How many names are remembered: more than HTML has."""


class _Borders(dict[str | None, str]):
    """What stands between two texts, from the name of the tag between them."""

    def __missing__(self, name: str | None) -> str:
        lowered = (name or "").lower().removeprefix("/")
        border = "" if lowered in _INLINE or not lowered else _BORDER
        if len(self) < _KEPT:
            self[name] = border
        return border


_BORDERS = _Borders()


class _Speaks(dict[str, bool]):
    """Whether an attribute is written to be read, from its name."""

    def __missing__(self, name: str) -> bool:
        lowered = name.lower()
        speaks = lowered in _SPOKEN or lowered.startswith("data-")
        if len(self) < _KEPT:
            self[name] = speaks
        return speaks


_SPEAKS = _Speaks()


@dataclass(frozen=True, slots=True)
class Markup:
    """What stands in a document, sorted by how it is meant."""

    pieces: list[str] = field(default_factory=list)
    """Text in its order, with borders."""
    aside: list[str] = field(default_factory=list)
    """Comments, and attributes that are written to be read."""
    code: list[str] = field(default_factory=list)
    """Scripts, style sheets and all other attributes."""

    @property
    def text(self) -> str:
        """What there is to read, on one line: its source may be broken anywhere."""
        return " ".join("".join(self.pieces).split())

    @property
    def run_on(self) -> str:
        """The same without borders, if that joins any words: `ig</div>nore`.

        Readers that only drop the tags, and browsers for some tags, show it so.
        """
        joined = "".join(self.pieces)
        if _TIGHT.search(joined) is None:
            return ""
        return " ".join(joined.replace(_BORDER, "").split())


def read_markup(document: str) -> Markup:
    """All that can be read in `document`; entities are left as they are."""
    found = Markup()
    for parts in rounds(_TOKEN, document):
        _sort(parts, found)
    return found


def _sort(parts: Sequence[str | None], found: Markup) -> None:
    """Add what one round has found."""
    texts, raws, names, attributes, contents, comments, quoted, bogus = (
        list(parts[index::_GROUPS]) for index in range(_GROUPS)
    )
    _set_apart_code(raws, contents, attributes, found)
    borders = map(_BORDERS.__getitem__, names)
    # A round ends with a text when nothing follows, and else with a match.
    texts += [""] * (len(names) + 1 - len(texts))
    woven = zip(texts, borders, contents, quoted, strict=False)
    found.pieces.extend(filter(None, chain.from_iterable(woven)))
    found.pieces.append(texts[-1] or "")
    found.aside.extend(filter(None, comments))
    found.aside.extend(filter(None, bogus))
    _sort_attributes(" ".join(filter(None, dict.fromkeys(attributes))), found)


def _set_apart_code(
    raws: list[str | None],
    contents: list[str | None],
    attributes: list[str | None],
    found: Markup,
) -> None:
    """Take scripts and the like out of `contents`; data in a script is read."""
    for place in [place for place, content in enumerate(contents) if content]:
        if (raws[place] or "").lower() not in _READ:
            kind = (attributes[place] or "").lower()
            is_data = "json" in kind or "text/" in kind
            (found.aside if is_data else found.code).append(contents[place] or "")
            contents[place] = None


def _sort_attributes(written: str, found: Markup) -> None:
    aside: list[str] = []
    code: list[str] = []
    for parts in rounds(_ATTRIBUTE, written):
        columns = [parts[index::_VALUES] for index in range(1, _VALUES)]
        for name, double, single, bare in dict.fromkeys(zip(*columns, strict=True)):
            value = double or single or bare
            if value:
                (aside if _SPEAKS[name] else code).append(value)
            elif name.lower() not in _SILENT:
                aside.append(name)
    found.aside.extend(dict.fromkeys(aside))
    found.code.extend(dict.fromkeys(code))
