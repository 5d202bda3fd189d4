"""Ed25519 keys that an ssh-agent holds (draft-ietf-sshm-ssh-agent)."""

import os
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from redlane.errors import RedlaneError
from redlane.hubclient.signing import PUBLIC_BYTES

__all__ = ["AgentKey", "agent_keys", "sign_with_agent"]

_SOCKET = "SSH_AUTH_SOCK"
_KIND = b"ssh-ed25519"
_LIST, _LISTED, _SIGN, _SIGNED = 11, 12, 13, 14
_MOST_BYTES = 1024 * 1024
_SECONDS = 60.0
"""So long somebody may take to touch a key."""


@dataclass(frozen=True, slots=True)
class AgentKey:
    """A key's public half, 32 bytes, and what the agent calls it."""

    public_key: bytes
    comment: str


def agent_keys() -> list[AgentKey]:
    """The Ed25519 keys of the agent; raises RedlaneError when there is no agent."""
    fields = _fields(_asked(_LIST, b"", _LISTED)[4:])
    return [
        AgentKey(blob[-PUBLIC_BYTES:], comment.decode(errors="replace"))
        for blob, comment in zip(fields, fields, strict=False)
        if blob[:-PUBLIC_BYTES] == _blob(bytes(PUBLIC_BYTES))[:-PUBLIC_BYTES]
    ]


def sign_with_agent(public_key: bytes, message: bytes) -> bytes:
    """The agent's signature, 64 bytes; raises RedlaneError when it does not sign."""
    asked = _field(_blob(public_key)) + _field(message) + struct.pack(">I", 0)
    answer = [*_fields(_asked(_SIGN, asked, _SIGNED))]
    signature = [*_fields(answer[0])] if len(answer) == 1 else []
    if [each == _KIND for each in signature] != [True, False]:
        raise _no_use("it signs in another way")
    return signature[1]


def _blob(public_key: bytes) -> bytes:
    """A public key as the agent writes it."""
    return _field(_KIND) + _field(public_key)


def _asked(kind: int, content: bytes, wanted: int) -> bytes:
    path = os.environ.get(_SOCKET)
    if not path:
        raise _no_use(f"{_SOCKET} names none")
    try:
        with socket.socket(socket.AF_UNIX) as agent:
            agent.settimeout(_SECONDS)
            agent.connect(path)
            agent.sendall(_field(bytes([kind]) + content))
            (length,) = struct.unpack(">I", _received(agent, 4))
            answer = _received(agent, min(length, _MOST_BYTES))
    except EOFError as error:
        raise _no_use("it says nothing") from error
    except OSError as error:
        raise _no_use(error.strerror or str(error)) from error
    if answer[:1] != bytes([wanted]):
        raise _no_use("it refuses: is the key there, and unlocked?")
    return answer[1:]


def _received(agent: socket.socket, length: int) -> bytes:
    data = b""
    while len(data) < length:
        piece = agent.recv(length - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data


def _field(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def _fields(data: bytes) -> Iterator[bytes]:
    """Fields one after another; raises RedlaneError for one that is cut off."""
    while data:
        end = 4 + int.from_bytes(data[:4])
        if len(data) < max(end, 4):
            raise _no_use("it answers nonsense")
        yield data[4:end]
        data = data[end:]


def _no_use(why: str) -> RedlaneError:
    return RedlaneError(f"the ssh-agent is of no use: {why}")
