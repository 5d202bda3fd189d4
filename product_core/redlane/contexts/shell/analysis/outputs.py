"""What several commands print, one after the other."""

from redlane.contexts.shell.expansion.scope import NOTHING, OutputTexts
from redlane.contexts.shell.expansion.scripts import MOST_BYTES
from redlane.contexts.shell.grammar.expansions import TooComplex

__all__ = ["one_by_one"]

_MOST_TEXTS = 16


def one_by_one(outputs: list[OutputTexts]) -> OutputTexts:
    """What a list prints: all that is known of its parts."""
    if not outputs:
        return NOTHING
    if len(outputs) == 1:
        return outputs[0]
    return OutputTexts.made(lambda: _joined(outputs), *outputs)


def _joined(outputs: list[OutputTexts]) -> tuple[str, ...]:
    known = [output.texts() for output in outputs]
    rows = [""]
    for texts in known:
        if texts:
            rows = [row + text for row in rows for text in texts][:_MOST_TEXTS]
        if sum(map(len, rows)) > MOST_BYTES:
            raise TooComplex("the text prints more than can be judged")
    return tuple(rows) if any(known) else ()
