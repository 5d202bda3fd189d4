"""A user's daemon with its proxy, an origin on loopback, and agents between them."""

import base64
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from origins.certificates import Authority
from origins.routes import Origin
from origins.serving import Ports, serving
from spec.redlane_home import REDLANE, Home, Ran, wait_for

__all__ = [
    "AGENT",
    "Agent",
    "MakeLab",
    "Outcome",
    "Proxied",
    "Site",
    "decoded",
    "lab_maker",
    "proxied",
    "site",
]

AGENT = Path(__file__).parent / "origins" / "agent.py"
Policy = Mapping[str, Any]


def decoded(text: str) -> bytes:
    """Bytes out of an agent's line."""
    return base64.b64decode(text)


def _told(value: object) -> object:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Mapping):
        return {name: _told(each) for name, each in value.items()}
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, list | tuple):
        return [_told(each) for each in value]
    return value


@dataclass(frozen=True)
class Outcome:
    """What a request of an agent's came to; `failed` when there was no answer."""

    status: int = 0
    version: str = ""
    headers: Sequence[tuple[str, str]] = ()
    body: bytes = b""
    failed: str = ""

    @property
    def json(self) -> Any:
        """The body, which must be JSON."""
        return json.loads(self.body)

    def header(self, name: str) -> str | None:
        """The first value of a header."""
        return next((value for each, value in self.headers if each == name), None)

    @property
    def blocked_by(self) -> str | None:
        """The policy of an answer that refuses; whatever else it is fails."""
        assert self.status == 403, self
        assert self.header("x-should-retry") == "false", self
        assert (self.header("content-type") or "").startswith("application/json"), self
        body = self.json
        assert {"error", "policy", "reason"} <= set(body), self
        policy = body["policy"]
        assert policy is None or isinstance(policy, str), self
        return policy


class Agent:
    """A program in a session, that makes requests as it is told."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        """Of a process that runs `origins/agent.py`."""
        self.process = process

    def send(self, task: str, **told: object) -> None:
        """Tell it to do something, without waiting for it."""
        assert self.process.stdin is not None
        line = json.dumps({"task": task, **{k: _told(v) for k, v in told.items()}})
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        """The next thing it says."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the agent has ended: {self.process.poll()}"
        said = json.loads(line)
        assert isinstance(said, dict), line
        return said

    def outcome(self) -> Outcome:
        """What the `request` that it was told to make came to."""
        said = self.receive()
        if "failed" in said:
            return Outcome(failed=said["failed"])
        headers = [(name, value) for name, value in said["headers"]]
        body = decoded(said["body"])
        return Outcome(said["status"], said["version"], headers, body)

    def request(self, url: str, method: str = "GET", **told: object) -> Outcome:
        """Make a request, and wait for what it comes to."""
        self.send("request", url=url, method=method, **told)
        return self.outcome()

    def post(self, url: str, body: bytes, **told: object) -> Outcome:
        """POST a body."""
        return self.request(url, "POST", body=body, **told)

    def raw(self, data: bytes = b"", **told: object) -> dict[str, Any]:
        """Exactly these bytes to the proxy; the answer's `data` is bytes."""
        self.send("raw", data=data, **told)
        said = self.receive()
        if "data" in said:
            for name in ("data", "tunnel", "certificate"):
                said[name] = decoded(said.get(name, ""))
        return said

    def environment(self) -> dict[str, str]:
        """Its environment."""
        self.send("environment")
        found: dict[str, str] = self.receive()["environment"]
        return found

    @property
    def session(self) -> str:
        """The id of its session."""
        return self.environment()["REDLANE_SESSION"]


@dataclass
class Site:
    """An origin, its certificates and where it is reached."""

    origin: Origin
    authority: Authority
    ports: Ports

    @property
    def http(self) -> str:
        """The beginning of its addresses without TLS."""
        return self.ports.http

    @property
    def https(self) -> str:
        """The beginning of its addresses with TLS."""
        return self.ports.https


@contextmanager
def site(base: Path) -> Iterator[Site]:
    """An origin for as long as the block lasts."""
    authority = Authority(base / "authority")
    origin = Origin()
    with serving(origin, authority.issue()) as ports:
        yield Site(origin, authority, ports)


@dataclass
class Proxied:
    """A home whose daemon has a proxy, and the agents that use it."""

    home: Home
    site: Site
    stack: ExitStack
    agents: dict[str, Agent] = field(default_factory=dict)

    @property
    def origin(self) -> Origin:
        """What is asked."""
        return self.site.origin

    @property
    def http(self) -> str:
        """The beginning of the origin's addresses without TLS."""
        return self.site.http

    @property
    def https(self) -> str:
        """The beginning of the origin's addresses with TLS."""
        return self.site.https

    def agent(self, role: str = "agent") -> Agent:
        """The agent of a role; each role has one, that stays."""
        if role not in self.agents:
            self.agents[role] = self.new_agent(role)
        return self.agents[role]

    def new_agent(self, role: str = "agent") -> Agent:
        """A further agent, in a session of its own."""
        process = subprocess.Popen(
            [REDLANE, "run", "--role", role, "--", sys.executable, AGENT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=self.home.environment(),
            cwd=self.home.user,
            text=True,
        )
        self.stack.callback(_end, process)
        return Agent(process)

    def run(self, *command: str | Path, role: str = "agent", **more: Any) -> Ran:
        """Run a command in a session of a role to its end."""
        return self.home.run("run", "--role", role, "--", *command, **more)

    def events(self, marker: str, context: str = "Network") -> list[dict[str, Any]]:
        """The events of a context whose content or details hold a marker."""
        rows = self.home.control.rows("/api/events?limit=1000")
        return [
            each
            for each in rows
            if each["context"] == context
            and marker in f"{each['content']}{each['details']}{each['reason']}"
        ]

    def event(self, marker: str, context: str = "Network") -> dict[str, Any]:
        """The one event of a context with a marker."""
        found = wait_for(lambda: self.events(marker, context))
        assert len(found) == 1, found
        return found[0]

    def held(self) -> dict[str, Any]:
        """The one review that is held, once it is."""
        rows = wait_for(lambda: self.home.control.rows("/api/reviews"))
        assert len(rows) == 1, rows
        return rows[0]

    def decide(self, decision: str, *options: str) -> None:
        """Decide what is held, as a person does."""
        ran = self.home.run("review", decision, str(self.held()["id"]), *options)
        assert ran.code == 0, ran

    def processes(self) -> list[int]:
        """The processes of the daemon's proxy."""
        daemon = self.home.control.get("/api/status").json["pid"]
        children = Path(f"/proc/{daemon}/task").glob("*/children")
        pids = [int(pid) for each in children for pid in each.read_text().split()]
        return [pid for pid in pids if b"--listener" in _command_line(pid)]


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _end(process: "subprocess.Popen[str]") -> None:
    process.stdin.close()  # type: ignore[union-attr]  # it is a pipe
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()  # type: ignore[union-attr]  # as above


@contextmanager
def proxied(
    base: Path,
    place: Site,
    policies: Mapping[str, Policy] | None = None,
    roles: Mapping[str, Sequence[str]] | None = None,
    **settings: object,
) -> Iterator[Proxied]:
    """A daemon with policies by id; the role `agent` has all of them, `open` none.

    Upstream certificates are verified by the site's authority alone.
    """
    home = Home(base)
    home.env["SSL_CERT_FILE"] = str(place.authority.bundle)
    found = dict(policies or {})
    home.policies(*({"id": name, **policy} for name, policy in found.items()))
    home.role("agent", *found)
    home.role("open")
    for name, members in (roles or {}).items():
        home.role(name, *members)
    home.settings(**settings)
    with ExitStack() as stack:
        stack.callback(home.stop)
        home.start("--role", "agent")
        yield Proxied(home, place, stack)


MakeLab = Callable[..., Proxied]
"""Takes the arguments of `proxied` after the first two."""


@contextmanager
def lab_maker(base: Callable[[], Path], place: Site) -> Iterator[MakeLab]:
    """Makes labs that last as long as the block; the same arguments, the same lab."""
    made: dict[str, Proxied] = {}
    with ExitStack() as stack:

        def make(
            policies: Mapping[str, Policy],
            roles: Mapping[str, Sequence[str]] | None = None,
            **settings: object,
        ) -> Proxied:
            key = json.dumps([dict(policies), dict(roles or {}), settings])
            if key not in made:
                new = proxied(base(), place, policies, roles, **settings)
                made[key] = stack.enter_context(new)
            return made[key]

        yield make
