"""A proxy of the daemon in its own directory; `sample_proxy.py` is its other end."""

import json
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from engine_samples import policy, rules
from gate_bench import Bench

from redlane.contexts.network.authority import Authority
from redlane.daemon.proxy_files import kept_key
from redlane.daemon.proxying import Proxying
from redlane.judging.metrics import Metrics
from redlane.judging.proxy_connections import ProxyConnections
from redlane.judging.proxy_service import ProxyService
from redlane.judging.service import JudgingService
from redlane.membership.proxy_tokens import ProxyTokens
from redlane.model.content import TextContent
from redlane.model.settings import Settings
from redlane.paths import Paths
from redlane.policies.loaded import Loaded

__all__ = ["COMMAND", "SAMPLE", "Place", "address_of", "line", "placed", "told"]

SAMPLE = Path(__file__).with_name("sample_proxy.py")
COMMAND = (sys.executable, "-I", str(SAMPLE))


class Place:
    """A daemon's run directory, and what is joined to the proxy in it."""

    def __init__(self, base: Path) -> None:
        self.base = base
        environ = {"HOME": str(base), "REDLANE_HOME": str(base / "r")}
        self.paths = Paths.from_environment(environ)
        self.paths.run.mkdir(parents=True)
        self.trusted = base / "trusted.pem"
        self.trusted.write_text("# trusted\n")
        self.ruleset = rules(policy("b", "Block", "bad"), policy("f", "Flag", "please"))
        self.bench = Bench(base, self.ruleset)
        self.settings = Settings()
        self.session = self.bench.sessions.create(role="r")
        self.made: list[Proxying] = []

    def proxying(self, command: tuple[str, ...] | None = COMMAND) -> Proxying:
        """The proxy of a daemon that starts now."""
        tokens = ProxyTokens(kept_key(self.paths.run))
        service = ProxyService(
            JudgingService(self.bench.gate, Metrics()),
            self.bench.gate,
            self.bench.sessions,
            tokens,
            lambda context, data, *_: TextContent(context, data),
        )
        made = Proxying(
            self.paths,
            lambda: Loaded(self.bench.ruleset, self.settings, ()),
            Authority(self.paths.authority, self.trusted),
            tokens,
            command,
            ProxyConnections(service, self.bench.reviews.cancel),
        )
        self.made.append(made)
        return made

    def url(self, proxying: Proxying) -> str:
        """What a session is told."""
        proxying.prepare()
        offer = proxying.offer(self.session.id, self.session.role)
        assert offer is not None
        return str(offer["url"])

    def ask(self, url: str, text: str) -> str:
        """What a line to the proxy of an address is answered; "": it was hung up."""
        _, _, rest = url.partition("://")
        credential, _, address = rest.rpartition("@")
        return line(address, f"{credential} {text}")


def line(address: str, text: str) -> str:
    """What a proxy answers to a line; "" when it is hung up."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), 20) as connection:
            connection.sendall(f"{text}\n".encode())
            data = b""
            while not data.endswith(b"\n"):
                piece = connection.recv(1 << 16)
                if not piece:
                    break
                data += piece
    except ConnectionError:
        return ""
    return data.decode().strip()


def told(proxying: Proxying) -> dict[str, Any]:
    """The settings that the proxy has been told."""
    found: dict[str, Any] = json.loads(line(address_of(proxying), "settings"))
    return found


def address_of(proxying: Proxying) -> str:
    return str(proxying.status()["address"])


@contextmanager
def placed(directory: Path) -> Iterator[Place]:
    """A place, and its end."""
    made = Place(directory)
    try:
        yield made
    finally:
        made.bench.reviews.close()
        for each in made.made:
            each.stop()
