"""The proxy's process at the end of a channel, with a daemon that says what we like."""

import array
import base64
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from fork_server import ForkedProcess
from forked_proxy import fork_proxy

from redlane.wire.frames import (
    HEAD_BYTES,
    MOST_SETTINGS_BYTES,
    Frame,
    body_length,
    pack,
    unpack,
)

__all__ = [
    "ALLOW",
    "CREDENTIAL",
    "PROXY",
    "ProxyProcess",
    "exchange",
    "proxy_process",
]

CREDENTIAL = "session:token"
PROXY = ("-m", "redlane.proxy")
"""The program as the daemon starts it, for what a fork shows less well."""

ALLOW: Mapping[str, Any] = {
    "verdict": "ALLOW",
    "policy": None,
    "reason": "",
    "suggestion": None,
    "event": "e",
    "modified_by": None,
    "refused": None,
}
Answer = Callable[[Frame], "tuple[Mapping[str, Any], list[bytes]]"]


def block(frame: Frame) -> tuple[Mapping[str, Any], list[bytes]]:
    """Block what has "forbidden" in it, and let the rest pass."""
    if any(b"forbidden" in each for each in frame.blobs):
        return {**ALLOW, "verdict": "BLOCK", "policy": "no", "reason": "is it"}, []
    if frame.document["kind"] == "record":
        return {**ALLOW, "verdict": frame.document["verdict"]}, []
    return ALLOW, []


@dataclass
class ProxyProcess:
    """The process, and what it has asked so far."""

    port: int
    process: "subprocess.Popen[bytes] | ForkedProcess"
    channel: socket.socket
    answer: Answer = block
    asked: list[Frame] = field(default_factory=list)
    connections: list[socket.socket] = field(default_factory=list)

    def contents(self, context: str, kind: str = "judge") -> list[bytes]:
        """What was asked about, in order."""
        return [
            each.blobs[0]
            for each in self.asked
            if (each.document["context"], each.document["kind"]) == (context, kind)
        ]

    def connection(self, connection: socket.socket) -> None:
        """Answer one connection to its end."""
        self.connections.append(connection)
        with connection, connection.makefile("rb") as stream, suppress(OSError):
            while head := stream.read(HEAD_BYTES):
                frame = unpack(head, stream.read(body_length(head)))
                self.asked.append(frame)
                document, blobs = self.answer(frame)
                connection.sendall(b"".join(pack(document, blobs)))

    def hear(self) -> Mapping[str, Any]:
        """The next message of the channel that is no connection."""
        while True:
            data, rights, _, _ = self.channel.recvmsg(4096, socket.CMSG_SPACE(64))
            if not data:
                raise EOFError
            descriptors = array.array("i")
            for _, _, each in rights:
                descriptors.frombytes(each[: len(each) // 4 * 4])
            for number in descriptors:
                connection = socket.socket(fileno=number)
                threading.Thread(
                    target=self.connection, args=(connection,), daemon=True
                ).start()
            if not descriptors:
                message: Mapping[str, Any] = json.loads(data)
                return message

    def settle(self, **changed: Any) -> None:
        """Send settings."""
        inbound = {
            "enabled": True,
            "oversize_action": changed.pop("oversize_action", "flag"),
            "max_buffer_bytes": changed.pop("max_buffer_bytes", 100_000),
            "max_segments": 3,
            "budget_ms": 2500,
        }
        settings = {
            "intercept": False,
            "passthrough_hosts": [],
            "provider_hosts": [],
            "mcp_servers": {},
            "scan_headers": False,
            "inbound": inbound,
            "authority": None,
            "trusted": None,
            "own": [["127.0.0.1", self.port]],
            **changed,
        }
        data = json.dumps(settings).encode()
        assert len(data) < MOST_SETTINGS_BYTES
        self.channel.send(data)


@contextmanager
def proxy_process(
    *, ends: int = 0, program: Sequence[str] = (), **settings: Any
) -> Iterator[ProxyProcess]:
    """A proxy that serves; `ends` is the status that it is to end with.

    It is forked, but for a `program`, which is started.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, socket.create_server(("127.0.0.1", 0)) as listener:
        with theirs:
            process = (
                _started(program, listener, theirs)
                if program
                else fork_proxy(listener, theirs)
            )
        made = ProxyProcess(listener.getsockname()[1], process, ours)
        try:
            made.settle(**settings)
            assert made.hear() == {"ready": True}
            threading.Thread(target=_listen, args=(made,), daemon=True).start()
            yield made
        finally:
            with suppress(OSError):
                ours.shutdown(socket.SHUT_RDWR)
            assert process.wait(20) == ends


def _started(
    program: Sequence[str], listener: socket.socket, channel: socket.socket
) -> "subprocess.Popen[bytes]":
    given = (listener.fileno(), channel.fileno())
    words = ["--listener", str(given[0]), "--channel", str(given[1])]
    return subprocess.Popen([sys.executable, *program, *words], pass_fds=given)


def _listen(made: ProxyProcess) -> None:
    with suppress(OSError, EOFError):
        while True:
            made.hear()


def authorization() -> bytes:
    """The header line with credentials."""
    return b"Proxy-Authorization: Basic " + base64.b64encode(CREDENTIAL.encode())


def exchange(port: int, request: bytes, *, until: bytes = b"") -> bytes:
    """What comes back to these bytes, up to `until` or the end of the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as own:
        own.sendall(request)
        received = b""
        while not (until and until in received):
            piece = own.recv(65536)
            if not piece:
                break
            received += piece
        return received
