"""A system call as content (policy format: Syscall policy rules)."""

import json
from collections.abc import Callable, Mapping

from redlane.errors import ContentError
from redlane.model.content import Content, Reader, SystemCall
from redlane.model.policy import Action, Context
from redlane.policies.strictjson import JsonError, parse_json

__all__ = ["SystemCallContent"]


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
        return cls(SystemCall(name, tuple(paths)), data)

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


def _text(call: SystemCall) -> bytes:
    """The call as it stands in events."""
    described = {"syscall": call.name, "paths": list(call.paths)}
    return json.dumps(described, separators=(",", ":")).encode()
