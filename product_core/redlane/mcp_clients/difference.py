"""What changes in a text, as `diff -u` shows it.

Configurations can be long and say the same line a thousand times, which `difflib`
takes minutes for. Here changes are few and small, and lie in the same order.
"""

from collections.abc import Iterator, Sequence

__all__ = ["difference"]

_CONTEXT = 3
_MOST = 400
"""How many lines a change has at most, for what follows it to be found again."""

_Change = tuple[int, int, int, int]
"""Lines of the old text, from and to, and those of the new one in their place."""


def difference(before: str, after: str, name: str) -> str:
    """The changed lines with three around them; nothing when there are none."""
    old, new = _lines(before), _lines(after)
    lines = [f"--- {name}\n", f"+++ {name}\n"]
    for group in _grouped(_changes(old, new)):
        lines += _hunk(old, new, group)
    return "".join(lines) if len(lines) > 2 else ""  # noqa: PLR2004  # the two heads


def _lines(text: str) -> list[str]:
    """The lines with their ends; only the last may have none."""
    lines = [f"{each}\n" for each in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _shown(mark: str, lines: Sequence[str]) -> Iterator[str]:
    for each in lines:
        end = "" if each.endswith("\n") else "\n\\ No newline at end of file\n"
        yield f"{mark}{each}{end}"


def _changes(old: Sequence[str], new: Sequence[str]) -> Iterator[_Change]:
    i = j = 0
    while i < len(old) or j < len(new):
        if i < len(old) and j < len(new) and old[i] == new[j]:
            i, j = i + 1, j + 1
            continue
        gone, come = _until_alike(old[i : i + 2 * _MOST], new[j : j + 2 * _MOST])
        if gone is None or come is None:
            gone, come = len(old) - i, len(new) - j
        yield i, i + gone, j, j + come
        i, j = i + gone, j + come


def _until_alike(
    old: Sequence[str], new: Sequence[str]
) -> tuple[int, int] | tuple[None, None]:
    """How many lines to leave out on either side until both go on alike."""
    for total in range(1, _MOST):
        for gone in range(total + 1):
            come = total - gone
            ahead = old[gone : gone + _CONTEXT]
            if gone <= len(old) and ahead == new[come : come + _CONTEXT]:
                return min(gone, len(old)), min(come, len(new))
    return None, None


def _grouped(changes: Iterator[_Change]) -> Iterator[list[_Change]]:
    """Changes between which there is too little to part them."""
    group: list[_Change] = []
    for each in changes:
        if group and each[0] - group[-1][1] > 2 * _CONTEXT:
            yield group
            group = []
        group.append(each)
    if group:
        yield group


def _hunk(
    old: Sequence[str], new: Sequence[str], group: Sequence[_Change]
) -> Iterator[str]:
    start = max(group[0][0] - _CONTEXT, 0)
    end = min(group[-1][1] + _CONTEXT, len(old))
    shift = group[0][2] - group[0][0]
    grown = sum((come - j) - (gone - i) for i, gone, j, come in group)
    count = end - start
    yield f"@@ -{start + 1},{count} +{start + shift + 1},{count + grown} @@\n"
    place = start
    for i, gone, j, come in group:
        yield from _shown(" ", old[place:i])
        yield from _shown("-", old[i:gone])
        yield from _shown("+", new[j:come])
        place = gone
    yield from _shown(" ", old[place:end])
