"""Whatever a server does, and however often the daemon ends: only a person accepts."""

import tempfile
from pathlib import Path

from core.pin_samples import Clerk, tool
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
)
from tiers import examples

from redlane.state.pin import PinsError

SERVERS = st.sampled_from(["files", "mail", "maps"])
TOOLS = st.sampled_from(["open", "close", "query"])
TEXTS = st.sampled_from(["one", "two", "three"])
SESSIONS = st.sampled_from(["", "s1"])


class Pinning(RuleBasedStateMachine):
    """Servers that list what they like, of which no two have a tool's name."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory(prefix="redlane-pins-")
        self.clerk = Clerk(Path(self.directory.name))
        self.trusted: dict[str, dict[str, str]] = {}
        self.doubted: dict[str, dict[str, str]] = {}

    def teardown(self) -> None:
        self.directory.cleanup()

    @rule(
        server=SERVERS,
        tools=st.dictionaries(TOOLS, TEXTS, min_size=1),
        session=SESSIONS,
    )
    def list_tools(self, server: str, tools: dict[str, str], session: str) -> None:
        """What is listed passes when it is trusted, or seen first."""
        listed = {f"{server}_{name}": text for name, text in tools.items()}
        is_first = server not in self.trusted
        trusted = self.trusted.setdefault(server, {})
        doubted = self.doubted.setdefault(server, {})
        expected = []
        for name, text in listed.items():
            if is_first:
                trusted[name] = text
            if trusted.get(name) == text:
                expected.append("")
            else:
                doubted[name] = text
                expected.append("changed" if name in trusted else "added")
        made = [tool(name, text) for name, text in listed.items()]
        assert self.clerk.see(server, *made, session=session) == expected

    @precondition(lambda self: any(self.doubted.values()))
    @rule(data=st.data())
    def accept_one(self, data: st.DataObject) -> None:
        """A person accepts one tool, as it was found last."""
        server, name = data.draw(st.sampled_from(sorted(self.clerk.waiting())))
        self.clerk.pins.accept(None, self.clerk.waiting()[server, name])
        self.trusted[server][name] = self.doubted[server].pop(name)

    @precondition(lambda self: any(self.doubted.values()))
    @rule()
    def accept_all(self) -> None:
        """A person accepts all that waits of one server."""
        (accepted, *_) = self.clerk.pins.accept(None, self.clerk.revisions()[0])
        server = accepted.server.name
        self.trusted[server] |= self.doubted[server]
        self.doubted[server].clear()

    @precondition(lambda self: any(self.doubted.values()))
    @rule(data=st.data())
    def forget_one(self, data: st.DataObject) -> None:
        """A person keeps what is pinned."""
        server, name = data.draw(st.sampled_from(sorted(self.clerk.waiting())))
        self.clerk.pins.forget(None, self.clerk.waiting()[server, name])
        del self.doubted[server][name]

    @precondition(lambda self: self.trusted)
    @rule(data=st.data())
    def forget_server(self, data: st.DataObject) -> None:
        """A person forgets a server."""
        name = data.draw(st.sampled_from(sorted(self.trusted)))
        servers = self.clerk.pins.servers(None)
        self.clerk.pins.forget(None, next(e.id for e in servers if e.name == name))
        del self.trusted[name]
        del self.doubted[name]

    @rule()
    def restart(self) -> None:
        """The daemon is killed, and started again."""
        self.clerk.restart()

    @invariant()
    def exactly_what_is_not_trusted_waits(self) -> None:
        """Calls and findings agree with what was decided."""
        waiting = {
            (server, name) for server, found in self.doubted.items() for name in found
        }
        assert set(self.clerk.waiting()) == waiting
        for server, trusted in self.trusted.items():
            for short in ("open", "close", "query"):
                name = f"{server}_{short}"
                passes = name in trusted and name not in self.doubted[server]
                assert self._passes(server, name) == passes

    def _passes(self, server: str, name: str) -> bool:
        try:
            return self.clerk.problem(server, name) == ""
        except PinsError:  # it was never listed
            return False


TestPinning = Pinning.TestCase
TestPinning.settings = settings(max_examples=examples(60), stateful_step_count=30)
