"""What a command changes in the shell that runs it, as far as later text needs it."""

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from redlane.contexts.shell.expansion.scope import OutputTexts, Scope
from redlane.contexts.shell.knowledge.output import known_output

__all__ = ["WRITERS", "apply_effect"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_LONGEST_PATH = 4096
WRITERS = frozenset({"cp", "mv", "ln", "install", "tee", "dd", "curl", "wget"})
"""Commands whose effect is on files alone."""

_OUTPUT_OPTIONS = frozenset({"-o", "-O", "--output", "--output-document"})

Effect = Callable[[Sequence[str], Scope, OutputTexts], None]


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
    place = scope.place(operands[0])
    scope.cwd = place if known and len(place) <= _LONGEST_PATH else None
    scope.moved = True


def _set(argv: Sequence[str], scope: Scope, _: OutputTexts) -> None:
    if "--" in argv:
        scope.parameters = tuple(argv[list(argv).index("--") + 1 :])
    elif len(argv) > 1 and not argv[1].startswith(("-", "+")):
        scope.parameters = tuple(argv[1:])


def _shift(argv: Sequence[str], scope: Scope, _: OutputTexts) -> None:
    if scope.parameters is not None:
        count = int(argv[1]) if len(argv) > 1 and argv[1].isdigit() else 1
        scope.parameters = scope.parameters[count:]


def _declare(argv: Sequence[str], scope: Scope, _: OutputTexts) -> None:
    for word in argv[1:]:
        name, sign, value = word.partition("=")
        if sign and _NAME.fullmatch(name):
            scope.assign(name, (value,))


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
        scope.assign(name, tuple(values) or (None,))


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
        "cd": _change_directory,
        "pushd": _change_directory,
        "set": _set,
        "shift": _shift,
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
