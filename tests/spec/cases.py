"""Verdict tables: one case is one role, some policies and what they must decide."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from spec.redlane_home import Home

__all__ = [
    "Case",
    "Judge",
    "executable",
    "mcp_tool",
    "modify",
    "regex",
    "simple",
    "write_cases",
]

Policy = dict[str, Any]
Judge = Callable[["Case"], dict[str, Any]]


def simple(action: str, pattern: str | None = None, **fields: object) -> Policy:
    """A Simple policy."""
    return _policy("Simple", action, pattern, fields)


def regex(action: str, pattern: str, **fields: object) -> Policy:
    """A Regex policy."""
    return _policy("Regex", action, pattern, fields)


def executable(action: str, pattern: str, **fields: object) -> Policy:
    """An Executable policy."""
    return _policy("Executable", action, pattern, fields)


def mcp_tool(action: str, **fields: object) -> Policy:
    """An McpTool policy."""
    return _policy("McpTool", action, None, fields)


def modify(trigger: str, transform: Policy, **fields: object) -> Policy:
    """A Simple policy that rewrites what contains `trigger`."""
    return simple("Modify", trigger, transform=transform, **fields)


def _policy(
    kind: str, action: str, pattern: str | None, fields: dict[str, object]
) -> Policy:
    policy: Policy = {"type": kind, "action": action, **fields}
    if pattern is not None:
        policy["pattern"] = pattern
    return policy


@dataclass(frozen=True)
class Case:
    """One row: the role named `id` holds `policies`, and `content` gets `verdict`.

    `policy` is the deciding policy's place in `policies`, None for no policy, or -1
    where the texts do not say.
    """

    id: str
    policies: tuple[Policy, ...]
    content: object
    verdict: str
    policy: int | None = -1
    context: str = "Network"
    rewritten: str | None = None

    def policy_id(self, place: int) -> str:
        """The id of the policy at a place."""
        return f"{self.id}-{place}"

    def check(self, verdict: dict[str, Any]) -> None:
        """Compare a verdict object with what the case demands."""
        assert verdict["verdict"] == self.verdict, verdict
        assert verdict["lane"] == LANES[self.verdict], verdict
        assert verdict["content"] == self.rewritten, verdict
        if self.policy is None:
            assert verdict["policy"] is None, verdict
        elif self.policy >= 0:
            assert verdict["policy"] == self.policy_id(self.policy), verdict


LANES = {"ALLOW": "GREEN", "MODIFY": "GREEN", "FLAG": "YELLOW", "BLOCK": "RED"}


def write_cases(home: Home, cases: Iterable[Case]) -> None:
    """Write every case's policies and its role."""
    policies, roles = [], []
    for case in cases:
        names = [case.policy_id(place) for place in range(len(case.policies))]
        policies += [
            {"id": name, **policy}
            for name, policy in zip(names, case.policies, strict=True)
        ]
        roles.append({"name": case.id, "policies": names})
    home.write("policies/cases.json", policies)
    home.write("roles/cases.json", roles)
