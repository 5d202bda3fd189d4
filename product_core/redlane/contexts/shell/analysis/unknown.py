"""Commands that run what nobody knows before they do: told to patterns, to be held."""

from collections.abc import Mapping, Sequence

from redlane.contexts.shell.analysis.forms import simple_form
from redlane.contexts.shell.grammar.syntax import Parameter, Simple, Word

__all__ = ["runs_unknown"]

_TOLD = "# runs what only its run tells: "


def runs_unknown(simple: Simple, unknown: Mapping[int, object]) -> str | None:
    """What patterns see of a command that was typed, if all that it runs is unknown.

    An `eval` of such a word, or such a variable alone; `unknown` are the words that
    are not known, by their identity. None for any other command.
    """
    words = simple.words
    is_eval = words[0] == "eval" and any(id(each) in unknown for each in words[1:])
    if is_eval or (len(words) == 1 and _is_unknown_value(words, unknown)):
        return _TOLD + simple_form(simple)
    return None


def _is_unknown_value(words: Sequence[Word], unknown: Mapping[int, object]) -> bool:
    word = words[0]
    if isinstance(word, str) or id(word) not in unknown or len(word) != 1:
        return False
    part = word[0]
    return isinstance(part, Parameter) and not part.quoted
