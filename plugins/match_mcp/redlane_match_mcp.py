"""The match type McpTool: an MCP tool call by server, by tool or by both."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from redlane.api import (
    Answer,
    Content,
    Context,
    Matcher,
    MatchType,
    Outcome,
    Policy,
    Problem,
    Reader,
    Severity,
    first_unseen,
    hookimpl,
)

__all__ = ["McpToolMatcher", "McpToolType", "redlane_match_types"]


class McpToolType:
    """McpTool, as the plugin host sees it."""

    name = "McpTool"
    contexts = frozenset(Context)
    """It matches in Mcp alone; elsewhere it is useless, but no error."""
    reader = Reader.PATTERN
    fields: frozenset[str] = frozenset()
    ignores_action = False

    def problems(self, policy: Policy) -> Iterator[Problem]:
        """Neither name, or one that no call can have, is an error."""
        if not policy.server and not policy.tool:
            yield Problem(
                Severity.ERROR, "McpTool needs `server` or `tool`: add at least one"
            )
        for field, name in (("server", policy.server), ("tool", policy.tool)):
            unseen = _unseen(name or "")
            if unseen:
                yield Problem(
                    Severity.ERROR,
                    f"`{field}` holds the invisible character {unseen}: take it out, "
                    "since a call with it is always blocked",
                )
        if policy.context not in {Context.MCP, Context.ALL}:
            yield Problem(
                Severity.WARNING,
                f"McpTool never matches in context {policy.context}: use Mcp or All",
            )

    def compile(self, policies: Sequence[Policy]) -> Matcher:
        """One table for all names."""
        return McpToolMatcher(
            [(each.order, each.server or None, each.tool or None) for each in policies]
        )


class McpToolMatcher:
    """Names of servers and tools, compared whole and exactly."""

    def __init__(self, names: Iterable[tuple[int, str | None, str | None]]) -> None:
        """Keep `names`: the order of each policy, its server and its tool."""
        self._orders: dict[tuple[str | None, str | None], list[int]] = defaultdict(list)
        for order, server, tool in names:
            self._orders[server, tool].append(order)
        self._first = min(
            (order for orders in self._orders.values() for order in orders), default=0
        )

    def answers(
        self,
        content: Content,
        views: tuple[bytes, ...],  # noqa: ARG002  # the names stand in the call itself
        before: int,
    ) -> Iterable[Answer]:
        """The policies that match the call, lowest order first.

        A name with characters that nobody sees could pass for another one, so it is
        refused whatever the policies say and wherever they stand in load order.
        """
        call = content.call
        if call is None or not self._orders:
            return []
        unseen = _unseen(call.server) or _unseen(call.tool)
        if unseen:
            reason = f"the MCP call's name holds the invisible character {unseen}"
            return [Answer(self._first, Outcome.FAILED, reason)]
        keys = (call.server, call.tool), (call.server, None), (None, call.tool)
        found = sorted(
            order
            for key in keys
            for order in self._orders.get(key, ())
            if order < before
        )
        return [Answer(order, Outcome.YES) for order in found]


def _unseen(name: str) -> str | None:
    """What to call the first character of a name that nobody sees, if there is one."""
    found = first_unseen(name)
    return f"U+{ord(found):04X}" if found else None


@hookimpl
def redlane_match_types() -> tuple[MatchType, ...]:
    """Offer the match type to the plugin host."""
    return (McpToolType(),)
