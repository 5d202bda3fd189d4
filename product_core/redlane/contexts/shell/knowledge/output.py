"""What simple filters print, where their input is known: `echo … | base64 -d`.

This is for one purpose: a command that is spelled by printing it and feeding it to a
shell is still that command.
"""

import base64
import binascii
import codecs
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import re2

from redlane.contexts.shell.grammar.ansi import decode_escapes

__all__ = ["is_exact", "known_output", "spelled_lines"]

Texts = tuple[str, ...]
Filter = Callable[[Sequence[str], Texts], Texts]

_CONVERSION = re.compile(r"%[-+ #0]*[0-9]{0,3}(?:\.[0-9]{1,3})?([sbqdiuoxXc%])")
_NOTHING = frozenset({"true", ":", "false"})
_LITERAL = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\"""")
_SPECIAL = re.compile(r"[\\^$.*\[]")
_MOST_REPLACED = 4096
_QUIETLY = re2.Options()
_QUIETLY.log_errors = False
_MOST_LITERALS = 16
_PLAIN_SED = re.compile(r"s(.)[\w /-]+\1[\w /.-]*\1g?")
_APPROXIMATE = frozenset(
    (
        *("head", "tail", "grep", "cut", "fold", "sort", "uniq", "xargs", "fmt", "nl"),
        *("dd", "column", "paste", "expand", "pr"),
    )
)


def known_output(argv: Sequence[str], name: str, stdin: Callable[[], Texts]) -> Texts:
    """Every text that the command may print, or none when that is not known.

    `stdin` tells the command's input, and is asked only by commands that read it.
    """
    if name in _NOTHING:
        return ("",)
    source = _SOURCES.get(name)
    if source is not None:
        return source(argv[1:], ())
    change = _FILTERS.get(name)
    return change(argv[1:], stdin()) if change is not None else ()


def is_exact(argv: Sequence[str], name: str) -> bool:
    """Whether `known_output` tells just what is printed, and not what may be in it."""
    if name == "sed":
        return len(argv) == len(("sed", "script")) and bool(_PLAIN_SED.match(argv[1]))
    return name not in _APPROXIMATE


def _echo(arguments: Sequence[str], _: Texts) -> Texts:
    """Both readings of a backslash: bash's echo keeps it, dash's does not."""
    rest = list(arguments)
    escapes = False
    end = "\n"
    while rest and re.fullmatch("-[neE]+", rest[0]):
        escapes = "e" in rest[0] or escapes
        end = "" if "n" in rest[0] else end
        rest.pop(0)
    text = " ".join(rest) + end
    if "\\" not in text:
        return (text,)
    return (decode_escapes(text),) if escapes else (text, decode_escapes(text))


def _printf(arguments: Sequence[str], _: Texts) -> Texts:
    rest = [each for each in arguments if each != "--"]
    if not rest or rest[0] == "-v":
        return ("",)
    template, values = decode_escapes(rest[0]), rest[1:]
    printed, wants = _formatted(template, values)
    while values and wants:
        values = values[wants:]
        if values:
            more, _count = _formatted(template, values)
            printed += more
    return (printed,)


def _formatted(template: str, values: Sequence[str]) -> tuple[str, int]:
    """`template` filled once, and how many values it takes."""
    left = iter(values)
    count = 0

    def fill(found: "re.Match[str]") -> str:
        nonlocal count
        kind = found[1]
        if kind == "%":
            return "%"
        count += 1
        return _converted(found[0], kind, next(left, ""))

    return _CONVERSION.sub(fill, template), count


def _converted(conversion: str, kind: str, value: str) -> str:
    if kind in "sq":
        return value[: int(conversion.partition(".")[2][:-1] or len(value))]
    if kind == "b":
        return decode_escapes(value)
    if kind == "c":
        return value[:1]
    try:
        number = ord(value[1]) if value[:1] in "'\"" else int(value or "0", 0)
        width = re.sub(r"[iu]$", "d", conversion)
        return width % number if len(conversion) < len("%0000d") else str(number)
    except (ValueError, IndexError, TypeError):
        return ""


def _base64(arguments: Sequence[str], stdin: Texts) -> Texts:
    if not any(
        each in ("--decode", "-D", "-d", "-di", "-id") or each.startswith("--d")
        for each in arguments
    ):
        return ()
    return _decoded(stdin, lambda text: base64.b64decode(text + "==="))


def _base32(arguments: Sequence[str], stdin: Texts) -> Texts:
    if not any(each.startswith(("-d", "--d")) for each in arguments):
        return ()
    return _decoded(stdin, base64.b32decode)


def _openssl(arguments: Sequence[str], stdin: Texts) -> Texts:
    words = set(arguments)
    if words & {"base64", "-base64", "-a"} and "-d" in words:
        return _decoded(stdin, lambda text: base64.b64decode(text + "==="))
    return ()


def _xxd(arguments: Sequence[str], stdin: Texts) -> Texts:
    flags = "".join(each for each in arguments if each.startswith("-"))
    if "r" in flags and "p" in flags:
        return _decoded(stdin, bytes.fromhex)
    return ()


def _decoded(texts: Texts, decode: Callable[[str], bytes]) -> Texts:
    found = []
    for text in texts:
        try:
            found.append(decode("".join(text.split())).decode(errors="replace"))
        except (ValueError, binascii.Error):
            continue
    return tuple(found)


def _reversed(_: Sequence[str], stdin: Texts) -> Texts:
    return tuple("\n".join(line[::-1] for line in text.split("\n")) for text in stdin)


def _tac(_: Sequence[str], stdin: Texts) -> Texts:
    return tuple("\n".join(reversed(text.splitlines())) for text in stdin)


def _translate(arguments: Sequence[str], stdin: Texts) -> Texts:
    flags = "".join(each[1:] for each in arguments if each.startswith("-"))
    sets = [_members(each) for each in arguments if not each.startswith("-")]
    if not sets:
        return ()
    if "d" in flags:
        table = {ord(each): None for each in sets[0]}
        return tuple(text.translate(table) for text in stdin)
    if len(sets) == 1 or not sets[1]:
        return stdin
    new = sets[1] + sets[1][-1] * max(len(sets[0]) - len(sets[1]), 0)
    pairs = dict(zip(map(ord, sets[0]), new, strict=False))
    return tuple(text.translate(pairs) for text in stdin)


def _members(written: str) -> str:
    """The characters of a `tr` set, ranges and classes written out."""
    for name, members in _CLASSES.items():
        written = written.replace(f"[:{name}:]", members)
    return re.sub(
        r"(.)-(.)",
        lambda found: "".join(map(chr, range(ord(found[1]), ord(found[2]) + 1))),
        decode_escapes(written),
        flags=re.DOTALL,
    )


_CLASSES = {
    "lower": "abcdefghijklmnopqrstuvwxyz",
    "upper": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "digit": "0123456789",
    "space": " \t\n\r\f\v",
}


def _sed(arguments: Sequence[str], stdin: Texts) -> Texts:
    """The one form that respells a command: `s/a/b/` with plain texts."""
    scripts = [each for each in arguments if re.match(r"s(.)", each)]
    for script in scripts:
        mark = script[1:2]
        pieces = script[2:].split(mark)
        if len(pieces) < len(("old", "new", "flags")):
            continue
        stdin = tuple(_replaced(text, pieces) for text in stdin) or (pieces[1],)
    return stdin


def _replaced(text: str, pieces: list[str]) -> str:
    """One substitution; its pattern is the command's own, so it runs in RE2."""
    old, new, flags = pieces[:3]
    count = -1 if "g" in flags else 1
    if not _SPECIAL.search(old) or len(old) + len(text) > _MOST_REPLACED:
        return text.replace(old, new, count)
    try:
        pattern = re2.compile(f"(?m){old}", _QUIETLY)
    except re2.error:
        return text
    changed = pattern.sub(lambda _: new, text, count=max(count, 0))
    return changed if isinstance(changed, str) else text


def _rot13(_: Sequence[str], stdin: Texts) -> Texts:
    return tuple(codecs.encode(text, "rot13") for text in stdin)


def _which(arguments: Sequence[str], _: Texts) -> Texts:
    names = [each for each in arguments if not each.startswith("-")]
    return ("\n".join(f"/usr/bin/{each}" for each in names),) if names else ()


def _unchanged(_: Sequence[str], stdin: Texts) -> Texts:
    return stdin


def _command(arguments: Sequence[str], stdin: Texts) -> Texts:
    if arguments and arguments[0] in ("-v", "-V"):
        return _which(arguments[1:], stdin)
    return ()


def _cut(arguments: Sequence[str], stdin: Texts) -> Texts:
    """`cut -cN-` and `-c N-M`; of fields, the whole line."""
    found = re.search(r"(?:^| )-[cb] ?(\d*)-?(\d*)(?: |$)", " ".join(arguments))
    if found is None:
        return stdin
    start, end = int(found[1] or "1") - 1, int(found[2]) if found[2] else None
    lines = (text.splitlines() for text in stdin)
    return tuple("\n".join(line[start:end] for line in each) for each in lines)


def _gathered(arguments: Sequence[str], stdin: Texts) -> Texts:
    """What a search prints of a text: from the words that are searched for on."""
    plain = [each for each in arguments if not each.startswith("-")]
    lead = re.match(r"\w+", plain[0]) if plain else None
    cut = tuple(t[t.index(lead[0]) :] for t in stdin if lead and lead[0] in t)
    return (*stdin, *cut)


def spelled_lines(arguments: Sequence[str]) -> Texts:
    """What an unknown program may print to a shell, going by its words.

    That is each argument that could be a line of commands, and each text in quotes.
    """
    found: dict[str, None] = {}
    for argument in arguments:
        if " " not in argument and "/" not in argument:
            continue
        text = argument.lstrip("+").rpartition("=" if argument[:2] == "--" else "\0")[2]
        found[text] = None
        for literal in _LITERAL.finditer(text):
            found[decode_escapes(literal[1] or literal[2] or "")] = None
    return tuple(found)[:_MOST_LITERALS]


def _operands(arguments: Sequence[str], _: Texts) -> Texts:
    """The operands, a line each: `ls -d` and `realpath` print what they are given."""
    names = [each for each in arguments if not each.startswith("-")]
    return ("\n".join(names),) if names else ()


def _listed(arguments: Sequence[str], _: Texts) -> Texts:
    """`ls -d`; a listing without it prints no paths."""
    directories = any(re.fullmatch("-[A-Za-z0-9]*d[A-Za-z0-9]*", a) for a in arguments)
    return _operands(arguments, ()) if directories else ()


def _parents(arguments: Sequence[str], _: Texts) -> Texts:
    names = [each for each in arguments if not each.startswith("-")]
    return tuple(each.rstrip("/").rpartition("/")[0] or "." for each in names)


_SOURCES: Mapping[str, Filter] = MappingProxyType(
    {
        "echo": _echo,
        "printf": _printf,
        "which": _which,
        "command": _command,
        "dirname": _parents,
        "ls": _listed,
        **dict.fromkeys(("realpath", "readlink"), _operands),
    }
)
_FILTERS: Mapping[str, Filter] = MappingProxyType(
    {
        "base64": _base64,
        "gbase64": _base64,
        "base32": _base32,
        "openssl": _openssl,
        "xxd": _xxd,
        "rev": _reversed,
        "tac": _tac,
        "tr": _translate,
        "sed": _sed,
        "rot13": _rot13,
        "cat": _unchanged,
        "tee": _unchanged,
        "head": _unchanged,
        "tail": _unchanged,
        "sort": _unchanged,
        "uniq": _unchanged,
        "xargs": _unchanged,
        "cut": _cut,
        "fold": _unchanged,
        "grep": _gathered,
        **dict.fromkeys(
            ("fmt", "nl", "dd", "column", "paste", "expand", "pr", "iconv", "pv"),
            _unchanged,
        ),
        **dict.fromkeys(
            ("gzip", "gunzip", "zcat", "bzip2", "bunzip2", "xz", "unxz", "zstd"),
            _unchanged,
        ),
    }
)
