"""A system call as content (policy format: Syscall policy rules)."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from redlane.errors import ContentError
from redlane.model.content import Content, Reader, SystemCall
from redlane.model.policy import Action, Context
from redlane.wire.strict_json import JsonError, parse_json

__all__ = ["SystemCallContent", "document_of_call"]


class SystemCallContent(Content):
    """A system call; its policies read the call itself and see no text of it."""

    __slots__ = ("_call", "context", "data")

    def __init__(self, call: SystemCall, data: bytes | None = None) -> None:
        """Take a call; `data` is what came, or else is made from the call."""
        self.context = Context.SYSCALL
        self.data = _text(call) if data is None else data
        self._call = call

    @classmethod
    def from_json(cls, data: bytes) -> "SystemCallContent":
        """Read `{"syscall": str, "paths": [str or null, …]}`.

        Raises ContentError for anything else; a call without paths may leave them out.
        What a checker is told besides (args, pid, ppid, command, session) may be there.
        """
        try:
            value = parse_json(data)
        except JsonError as error:
            raise ContentError(f"the system call is not JSON: {error}") from None
        if not isinstance(value, Mapping):
            raise ContentError("the system call is not a JSON object")
        name, paths = value.get("syscall"), value.get("paths")
        if not isinstance(name, str) or not name:
            raise ContentError("the system call has no 'syscall'")
        if paths is None:
            paths = []
        if not isinstance(paths, list) or not all(
            each is None or isinstance(each, str) for each in paths
        ):
            raise ContentError("'paths' of the system call is no list of texts")
        return cls(SystemCall(name, tuple(paths), _details(value)), data)

    @property
    def system_call(self) -> SystemCall:
        """The call."""
        return self._call

    def views(self, action: Action, reader: Reader) -> tuple[bytes, ...]:  # noqa: ARG002
        """No text: paths and names are matched as such."""
        return ()

    def rewritten(self, change: Callable[[bytes], bytes]) -> Content:  # noqa: ARG002
        """Raises ContentError: a system call cannot be rewritten."""
        raise ContentError("a system call cannot be rewritten")


def _details(value: Mapping[str, Any]) -> Mapping[str, object]:
    """What is told of a call beside its name and its paths."""
    details = {name: value[name] for name in _DETAILS if value.get(name) is not None}
    for name, given in details.items():
        if not _DETAILS[name](given):
            raise ContentError(f"{name!r} of the system call has another form")
    return details


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _are_numbers(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_number, value))


_DETAILS: Mapping[str, Callable[[object], bool]] = {
    "args": _are_numbers,
    "pid": _is_number,
    "ppid": _is_number,
    "command": _is_text,
    "session": _is_text,
}


def document_of_call(call: SystemCall) -> dict[str, object]:
    """The call as an object of JSON, from which `from_json` makes it again."""
    known = {name: call.details[name] for name in _DETAILS if name in call.details}
    return {"syscall": call.name, "paths": list(call.paths), **known}


def _text(call: SystemCall) -> bytes:
    """The call as it stands in events."""
    return json.dumps(document_of_call(call), separators=(",", ":")).encode()
