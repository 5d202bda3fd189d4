"""Rules and contents to measure with: from a fixed seed, in the shapes of real ones.

The shapes are those of secret scanners, command guards and web application firewalls:
alternations, bounded repeats, `(?i)`, and about seven in a hundred without a literal.
"""

import random
from collections.abc import Callable

__all__ = ["command", "page", "regexes", "substrings"]

_SEED = 20_261
_SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu tra ple"
_WORDS = (
    "the of and to in is that for it with as was on be at by this have from or one had "
    "not but what all were when we there can an your which their said if do will each "
    "about how up out them then she many some so these would other into has more write "
    "number way could people than first water been call who now find long down day did "
    "get come made may part server client request response header value string buffer "
    "return function class type error result option default example install package "
    "config secret token password key user admin select insert script object onload"
)
_COMMANDS = "git docker kubectl npm pip apt systemctl ssh scp tar find chmod dd nc"
_TAGS = "script iframe object embed svg img video body form input"

_Maker = Callable[[random.Random, str, str], str]


def _assigned_secret(_: random.Random, word: str, other: str) -> str:
    return (
        rf"(?i)[\w.-]{{0,50}}?(?:{word}|{other})(?:[ \t\w.-]{{0,20}})[\s'\"]{{0,3}}"
        r"(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'\"\s=]{0,5}([a-z0-9]{32})"
        r"(?:[\x60'\"\s;]|\\[nr]|$)"
    )


def _prefixed_secret(dice: random.Random, word: str, _: str) -> str:
    return rf"\b{word[:4]}[-_][0-9A-Za-z_-]{{{dice.randint(16, 60)}}}\b"


def _command_rule(dice: random.Random, word: str, other: str) -> str:
    program = dice.choice(_COMMANDS.split())
    return rf"\b{program}\s+(?:-\w+\s+)*{word}\b.*--(?:{other}|force)"


def _pipe_to_shell(_: random.Random, word: str, other: str) -> str:
    return rf"(?:curl|wget)\s[^|;]*{word}\.(?:{other}|com)[^|]*\|\s*(?:ba|da|z)?sh\b"


def _script_tag(dice: random.Random, word: str, _: str) -> str:
    return rf"(?i)<{dice.choice(_TAGS.split())}[^>]*\son{word}\s*=\s*['\"]?[^>]{{1,80}}"


def _injection(_: random.Random, word: str, other: str) -> str:
    return rf"(?i:union\s+(?:all\s+)?select\s+.{{0,40}}\b(?:{word}|{other})\s*\()"


def _traversal(dice: random.Random, word: str, other: str) -> str:
    return rf"(?:\.\./|\.\.\\){{2,{dice.randint(3, 9)}}}(?:{word}|{other})/\w+"


def _without_literal(dice: random.Random, _: str, __: str) -> str:
    size = dice.randint(4, 40)
    return dice.choice(
        (
            rf"\b\d{{3}}-\d{{2}}-\d{{{size}}}\b",
            rf"\b[0-9a-f]{{{size + 24}}}\b",
            rf"(?:\d{{1,3}}\.){{3}}\d{{1,3}}:\d{{{size}}}",
            rf"[A-Za-z0-9+/]{{{size + 160}}}={{1,2}}",
            rf"\b[A-Z]{{2}}\d{{2}}(?:\s?[A-Z0-9]{{4}}){{{size}}}\b",
        )
    )


_SHAPES: tuple[tuple[int, _Maker], ...] = (
    (25, _assigned_secret),
    (18, _prefixed_secret),
    (18, _command_rule),
    (8, _pipe_to_shell),
    (10, _script_tag),
    (8, _injection),
    (6, _traversal),
    (7, _without_literal),
)


def regexes(count: int) -> list[str]:
    """`count` different rules."""
    dice = random.Random(_SEED)
    weights, makers = zip(*_SHAPES, strict=True)
    rules: dict[str, None] = {}
    while len(rules) < count:
        maker: _Maker = dice.choices(makers, weights)[0]
        rules[maker(dice, _name(dice), _name(dice))] = None
    return list(rules)


def substrings(count: int) -> list[str]:
    """`count` different literals of 6 to 30 characters."""
    dice = random.Random(_SEED + 1)
    found: dict[str, None] = {}
    while len(found) < count:
        found[f"{_name(dice)}{dice.choice(' -_/.=')}{_name(dice)}"] = None
    return list(found)


def command(size: int) -> bytes:
    """A command line of exactly `size` bytes."""
    dice = random.Random(_SEED + 2)
    words = _WORDS.split()
    text = f"{dice.choice(_COMMANDS.split())} --verbose"
    while len(text) < size:
        text += f" {dice.choice(words)}/{_name(dice)}.txt -n {dice.randint(1, 999)}"
    return text[:size].encode()


def page(size: int) -> bytes:
    """A page of documentation in HTML, of exactly `size` bytes."""
    dice = random.Random(_SEED + 3)
    parts: list[str] = []
    for _ in range(size // 60 + 1):
        words = " ".join(dice.choices(_WORDS.split(), k=12))
        number = dice.randint(0, 99_999)
        parts.append(f'<p id="{_name(dice)}-{number}" class="x">{words}.</p>\n')
    return "".join(parts).encode()[:size]


def _name(dice: random.Random) -> str:
    return "".join(dice.choices(_SYLLABLES.split(), k=dice.randint(2, 5)))
