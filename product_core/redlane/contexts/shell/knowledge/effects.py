"""What a command changes in the shell that runs it, as far as later text needs it."""

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from redlane.contexts.shell.expansion.scope import ALL, OutputTexts, Scope, added
from redlane.contexts.shell.knowledge.known import known_directory
from redlane.contexts.shell.knowledge.output import known_output

__all__ = ["DECLARES", "MOVES", "WRITERS", "apply_effect", "is_unsure"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_LONGEST_PATH = 4096
_LOCALS = frozenset({"declare", "typeset"})
WRITERS = frozenset({"cp", "mv", "ln", "install", "tee", "dd", "curl", "wget"})
"""Commands whose effect is on files alone."""
MOVES = frozenset({"cd", "pushd", "popd"})
"""Commands that change what relative paths mean, if they do not fail."""
_UNSURE = MOVES | frozenset(
    [
        ".",
        "source",
        "alias",
        "let",
        "read",
        "mapfile",
        "readarray",
    ]
)
_MAY_CHANGE = frozenset({"declare", "typeset", "local"})
DECLARES = _MAY_CHANGE | {"export", "readonly"}
"""Commands whose arguments are read as assignments once more."""
_CHANGES = re.compile(r"[-+]\w*[nluci]")
"""Options by which a variable stands for another, or has its values changed."""

_OTHER_INPUT = re.compile(r"-[a-z]*u")
_OUTPUT_OPTIONS = frozenset({"-o", "-O", "--output", "--output-document"})

Effect = Callable[[Sequence[str], Scope, OutputTexts], None]


def is_unsure(argv: Sequence[str], name: str) -> bool:
    """Whether a command may change nothing, or more than its words tell."""
    if name in _MAY_CHANGE:
        return any(_CHANGES.match(each) for each in argv[1:])
    return name in _UNSURE


def apply_effect(
    argv: Sequence[str], name: str, scope: Scope, stdin: OutputTexts
) -> None:
    """Let `argv` change what is known; most commands change nothing."""
    effect = _EFFECTS.get(name)
    if effect is not None:
        effect(argv, scope, stdin)


def _change_directory(argv: Sequence[str], scope: Scope, _: OutputTexts) -> None:
    operands = [each for each in argv[1:] if not each.startswith("-")] or ["~"]
    if len(operands) != 1 or operands[0].startswith("$") or "-" in argv:
        return
    known = scope.cwd or operands[0].startswith(("/", "~"))
    place = scope.place(known_directory(operands[0]))
    scope.cwd = place if known and len(place) <= _LONGEST_PATH else None
    scope.moved = True


def _set(argv: Sequence[str], scope: Scope, _: OutputTexts) -> None:
    """New positional parameters, behind `--` or behind the last option."""
    words = iter(argv[1:])
    if "allexport" in argv or any(re.match("-[a-z]*a", each) for each in argv[1:]):
        scope.exported.add(ALL)
    rest: tuple[str, ...] = ()
    for word in words:
        if word == "--":
            scope.set_parameters((tuple(words),))
        elif not word.startswith(("-", "+")):
            rest = (word, *words)
        elif word[-1] == "o":
            next(words, None)
    if rest:
        scope.set_parameters((rest,))


def _shift(argv: Sequence[str], scope: Scope, _: OutputTexts) -> None:
    """Fewer parameters; in a loop, or if it is not known by how many, any fewer."""
    count = argv[1] if len(argv) > 1 else "1"
    left: list[tuple[str, ...] | None] = []
    for each in scope.parameters:
        if each is None:
            left.append(None)
        elif count.isdigit() and not scope.may_not_run:
            left.append(each[int(count) :])
        else:
            left += (each[place:] for place in range(len(each) + 1))
    scope.set_parameters(tuple(left))


def _declare(argv: Sequence[str], scope: Scope, _: OutputTexts) -> None:
    """Values, and for whom they are: a constant, a name that stands for another.

    Without a value a local variable may be unset. Outside of a function `local` fails.
    """
    options = {letter for each in argv[1:] if each[:1] == "-" for letter in each[1:]}
    exports = argv[0] == "export" or "x" in options
    is_local = argv[0] == "local" or (scope.uncertain and argv[0] in _LOCALS)
    scope.uncertain += argv[0] == "local"
    for word in argv[1:]:
        left, sign, value = word.partition("=")
        name = left.removesuffix("+")
        if not _NAME.fullmatch(name):
            continue
        if exports:
            scope.exported.add(name)
        if sign and "n" in options:
            scope.references[name] = value
        elif sign and name != left:
            scope.assign(name, tuple(added(old, value) for old in scope.values(name)))
        elif sign or is_local:
            scope.assign(name, (value if sign else None,))
        if "r" in options or argv[0] == "readonly":
            scope.constant.add(name)
    scope.uncertain -= argv[0] == "local"


def _unset(argv: Sequence[str], scope: Scope, _: OutputTexts) -> None:
    """No value, which is as good as none that is known; an element may go or stay."""
    for word in argv[1:]:
        name, bracket, _key = word.partition("[")
        if _NAME.fullmatch(name) and "-f" not in argv:
            scope.assign(name, (None, *scope.values(name)) if bracket else (None,))


def _alias(argv: Sequence[str], scope: Scope, _: OutputTexts) -> None:
    for word in argv[1:]:
        name, sign, value = word.partition("=")
        if sign:
            scope.aliases.setdefault(name, {})[value] = None


def _getopts(argv: Sequence[str], scope: Scope, _: OutputTexts) -> None:
    for name in (*argv[2:3], "OPTARG"):
        scope.assign(name, (None,))


def _read(argv: Sequence[str], scope: Scope, stdin: OutputTexts) -> None:
    names = [each for each in argv[1:] if _NAME.fullmatch(each)] or ["REPLY"]
    lines = [line for text in stdin.texts() for line in text.splitlines()]
    if not any(re.fullmatch("-[a-z]*r[a-z]*", each) for each in argv):
        lines += [line.replace("\\", "") for line in lines if "\\" in line]
    for place, name in enumerate(names):
        values: list[str] = []
        for line in lines:
            rest = line.split(None, place)
            values += [rest[place], *rest[place].split()[:1]] if rest[place:] else [""]
        is_elsewhere = any(_OTHER_INPUT.match(each) for each in argv[1:])
        scope.assign(
            name, (*values, None) if is_elsewhere or not values else tuple(values)
        )


def _printf(argv: Sequence[str], scope: Scope, _: OutputTexts) -> None:
    if argv[1:2] in (["-v"], ("-v",)):
        for name in argv[2:3]:
            rest = ("printf", *argv[3:])
            scope.assign(name, known_output(rest, "printf", tuple))


def _copy(argv: Sequence[str], scope: Scope, stdin: OutputTexts) -> None:
    """`cp`, `mv`, `ln`, `install`: the copy is as good as what was copied."""
    operands = [each for each in argv[1:] if not each.startswith("-")]
    if len(operands) < len(("from", "to")):
        return
    target = scope.place(operands[-1])
    if operands[0] == "/dev/stdin":
        scope.files[target] = stdin
    for source in operands[:-1]:
        place = scope.place(source)
        scope.links[target] = scope.links.get(place, source)
        for known in (scope.files, scope.origins):
            _share(known, place, target)


def _share(
    known: "dict[str, OutputTexts] | dict[str, str]", place: str, target: str
) -> None:
    if place in known:
        known[target] = known[place]  # type: ignore[assignment]  # the same mapping


def _tee(argv: Sequence[str], scope: Scope, stdin: OutputTexts) -> None:
    for word in argv[1:]:
        if not word.startswith("-"):
            scope.files[scope.place(word)] = stdin


def _dd(argv: Sequence[str], scope: Scope, stdin: OutputTexts) -> None:
    for word in argv[1:]:
        if word.startswith("of="):
            scope.files[scope.place(word[3:])] = stdin


def _mapfile(argv: Sequence[str], scope: Scope, stdin: OutputTexts) -> None:
    name = argv[-1] if len(argv) > 1 and _NAME.fullmatch(argv[-1]) else "MAPFILE"
    lines = tuple(tuple(text.splitlines()) for text in stdin.texts())
    scope.assign(name, lines or (None,))


def _download(argv: Sequence[str], scope: Scope, _: OutputTexts) -> None:
    for place, word in enumerate(argv[:-1]):
        if word in _OUTPUT_OPTIONS:
            scope.origins[scope.place(argv[place + 1])] = " ".join(argv)
    if {"-O", "--remote-name"} & set(argv) or argv[0].endswith("wget"):
        for word in argv[1:]:
            if "/" in word:
                base = word.partition("?")[0].rpartition("/")[2]
                scope.origins.setdefault(scope.place(base), " ".join(argv))


_EFFECTS: Mapping[str, Effect] = MappingProxyType(
    {
        "alias": _alias,
        "cd": _change_directory,
        "pushd": _change_directory,
        "set": _set,
        "shift": _shift,
        "unset": _unset,
        "getopts": _getopts,
        "export": _declare,
        "declare": _declare,
        "typeset": _declare,
        "local": _declare,
        "readonly": _declare,
        "read": _read,
        "printf": _printf,
        "cp": _copy,
        "mv": _copy,
        "ln": _copy,
        "install": _copy,
        "tee": _tee,
        "dd": _dd,
        "mapfile": _mapfile,
        "readarray": _mapfile,
        "curl": _download,
        "wget": _download,
    }
)
