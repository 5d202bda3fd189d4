"""Finds shell commands that change the variables that bind a process to its session.

Only what assigns or unsets them counts. Reading them, and text about them in an
argument, a commit message or a file, is free.
"""

import re
from collections.abc import Iterator

from redlane.engine.environment_code import (
    changes_in_code,
    code_of,
    is_interpreter,
    reads_code_from_input,
)
from redlane.engine.variable_commands import (
    EVERY,
    RUNNERS,
    VARIABLE_COMMANDS,
    Words,
    assigned_in_arithmetic,
    assigned_name,
)
from redlane.model.content import Content, Reader, ShellCommand
from redlane.model.policy import Action

__all__ = ["PROTECTED", "changes_session_variables"]

PROTECTED = ("REDLANE_SESSION", "REDLANE_SOCKET")
"""The variables that may be read, but neither assigned nor unset."""

_BY_PREFIX = re.compile(r"\$\{!(\w*)[*@]\}")


def changes_session_variables(content: Content) -> bool:
    """Whether any command in the content assigns or unsets a session variable."""
    commands = [each for each in content.commands if _may_change(each)]
    if not commands:
        return False
    strings = content.views(Action.BLOCK, Reader.CHECKER)
    text = b"\n".join(strings).decode(errors="replace")
    mentioned = "REDLANE" in text
    return any(
        _is_protected(name, mentioned)
        for command in commands
        for name in _changed(command, text)
        if name != EVERY or not _clears(command)
    )


def _clears(command: ShellCommand) -> bool:
    """Whether it is `env -i` or its like in a script, where careful programs say that.

    It takes all variables from one program, and gives none of them another value.
    """
    names = [word.rsplit("/", 1)[-1] for word in command.words[:1]]
    return command.in_script and names in (["env"], ["exec"])


def _may_change(command: ShellCommand) -> bool:
    """Whether a command is worth a closer look; most are not."""
    if command.assigned:
        return True
    words = command.words
    return bool(words) and (
        "=" in words[0]
        or _is_known(words[0].rsplit("/", 1)[-1])
        or any("((" in word for word in words)
    )


def _is_known(name: str) -> bool:
    return name in VARIABLE_COMMANDS or name in RUNNERS or is_interpreter(name)


def _is_protected(name: str, mentioned: bool) -> bool:  # noqa: FBT001  # private
    """Whether a changed name is, or may turn out to be, one of the two.

    What is worked out only when the command runs counts, if the text speaks of them.
    """
    if name in PROTECTED or name == EVERY:
        return True
    prefix = _BY_PREFIX.search(name)
    if prefix is not None:
        return any(each.startswith(prefix[1]) for each in PROTECTED)
    return mentioned and ("$" in name or "`" in name)


def _changed(command: ShellCommand, text: str) -> Iterator[str]:
    """The names that a command changes."""
    yield from command.assigned
    words = command.words
    while words and (name := assigned_name(words[0])):
        yield name
        words = words[1:]
    yield from _changed_by(words, text)
    for word in words:
        if "((" in word:
            yield from assigned_in_arithmetic(word)


def _changed_by(words: Words, text: str) -> Iterator[str]:
    """The names that running `words` changes, those behind `sudo`, `time` … too."""
    if not words:
        return
    name, arguments = words[0].rsplit("/", 1)[-1], words[1:]
    if name in VARIABLE_COMMANDS:
        yield from VARIABLE_COMMANDS[name](arguments)
    if is_interpreter(name):
        codes = code_of(arguments)
        if not codes and reads_code_from_input(arguments):
            codes = [text]
        if any(map(changes_in_code, codes)):
            yield EVERY
    if name in RUNNERS:
        for place, word in enumerate(arguments):
            if _is_known(word.rsplit("/", 1)[-1]):
                yield from _changed_by(arguments[place:], text)
                return
