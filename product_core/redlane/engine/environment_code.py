"""Code of other languages that changes environment variables: `python -c` and such."""

import re2

__all__ = ["changes_in_code", "code_of", "is_interpreter", "reads_code_from_input"]

_INTERPRETERS = frozenset(
    {
        "Rscript",
        "bun",
        "deno",
        "node",
        "nodejs",
        "perl",
        "php",
        "pypy",
        "python",
        "ruby",
    }
)
_CODE_OPTION = re2.compile(r"^(?:--eval|--print|--run|-[A-Za-z]*[ceEprR])$|^eval$")
_ATTACHED = re2.compile(r"^(?:--(?:eval|print|run)=|-[A-Za-z]*?[ceEr])(?s:(.{4,}))$")

_EQUALS = r"(?:[-+.*|&?/]{0,2})=(?:[^=~>]|\z)"
"""An assignment, with an operator or not; neither a comparison nor an arrow."""


def _patterns(name: str) -> str:
    """What assigns or removes one of the names that `name` matches."""
    key = rf"""['"`]{name}['"`]"""
    brackets = rf"\[\s*{key}\s*\]"
    changed = (
        rf"\benviron[b]?\s*\[\s*b?{key}\s*\]\s*{_EQUALS}",
        rf"\bdel\s.*environ[b]?\s*\[\s*b?{key}",
        rf"(?s:\benviron[b]?\s*\.\s*(?:pop|setdefault|update|__\w+item__)\s*\(.*{name})",
        rf"\b(?:putenv|unsetenv|setenv)\s*\(\s*b?['\"]?{name}",
        rf"\benv\s*(?:\.\s*{name}\b|{brackets})\s*{_EQUALS}",
        rf"\bdelete\s*\(?\s*[\w.]*env\s*(?:\.\s*{name}\b|{brackets})",
        rf"(?s:\bObject\s*\.\s*assign\s*\(\s*process\s*\.\s*env\b.*{name})",
        rf"(?s:\bReflect\s*\.\s*(?:set|deleteProperty)\s*\(\s*process\s*\.\s*env\b.*{name})",
        rf"\benv\s*\.\s*(?:set|delete)\s*\(\s*{key}",
        rf"\$ENV\s*\{{\s*['\"]?{name}['\"]?\s*\}}\s*{_EQUALS}",
        rf"\b(?:delete|undef|local)\s*\(?\s*(?:local\s*)?\$ENV\s*\{{\s*['\"]?{name}",
        rf"\bENV\s*{brackets}\s*{_EQUALS}",
        rf"(?s:\bENV\s*\.\s*(?:delete|store|update|merge!|replace)\b.*{name})",
    )
    return "|".join(f"(?:{each})" for each in changed)


_CLEARED = (
    r"\benviron[b]?\s*\.\s*clear\b",
    r"\bENV\s*\.\s*clear\b",
    r"%ENV\s*=[^=~]",
    r"\bundef\s*\(?\s*%ENV\b",
    r"\bprocess\s*\.\s*env\s*=[^=>]",
)
"""What removes every variable at once."""

_CHANGES = re2.compile(
    _patterns(r"REDLANE_(?:SESSION|SOCKET)")
    + "|"
    + "|".join(f"(?:{each})" for each in _CLEARED)
)


_LITERAL = r"""b?(?:'[^']*'|"[^"]*")"""
_COMPUTED = rf"""(?:[^\]'"b\s)][^\])]*|b[^'"][^\])]*|{_LITERAL}\s*[^\]\s),][^\])]*)"""
"""A key that is no plain text: a variable, or a text with something behind it."""

_COMPUTES = re2.compile(
    rf"\benv(?:iron)?b?\s*\[\s*{_COMPUTED}\]\s*{_EQUALS}"
    rf"|\bENV\s*[\[{{]\s*{_COMPUTED}[\]}}]\s*{_EQUALS}"
    rf"|\bdel(?:ete)?\s.*\b(?:environb?|env|ENV)\s*[\[{{]\s*{_COMPUTED}"
    rf"|\benvironb?\s*\.\s*(?:pop|setdefault|__\w+item__)\s*\(\s*{_COMPUTED}"
    rf"|\b(?:putenv|unsetenv|setenv)\s*\(\s*{_COMPUTED}"
)
"""A change under a name that is worked out when the code runs."""


def is_interpreter(command: str) -> bool:
    """Whether a command runs code of a language that can change its environment."""
    return command.rstrip("0123456789.") in _INTERPRETERS


def code_of(arguments: tuple[str, ...]) -> list[str]:
    """The code that stands in an interpreter's arguments (`-c CODE`, `-eCODE`)."""
    found: list[str] = []
    for place, argument in enumerate(arguments):
        if _CODE_OPTION.match(argument):
            found.extend(arguments[place + 1 : place + 2])
        elif attached := _ATTACHED.match(argument):
            found.append(attached[1] or "")
    return found


def reads_code_from_input(arguments: tuple[str, ...]) -> bool:
    """Whether an interpreter is given nothing to run, so that it reads its input."""
    return all(each == "-" or each.startswith("-") for each in arguments)


def changes_in_code(code: str) -> bool:
    """Whether code assigns or removes a session variable, as far as its text tells.

    A name that is worked out counts when the code speaks of Redlane's variables.
    """
    if _CHANGES.search(code) is not None:
        return True
    return "REDLANE" in code and _COMPUTES.search(code) is not None
