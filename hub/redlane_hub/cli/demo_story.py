"""What a demonstration hub holds: people, policies that load, and what they say."""

import json
from dataclasses import dataclass
from typing import Any

from redlane_hub.wire.forms import JsonObject

__all__ = ["ENDORSEMENTS", "PEOPLE", "PUBLICATIONS", "Person", "Publication"]


@dataclass(frozen=True, slots=True)
class Person:
    """An account; `key` is the label of the key that it signs with."""

    email: str
    approved: bool = True
    recognised: bool = False
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Publication:
    """An artifact; `needs` are names, versions and whether they are required."""

    owner: str
    name: str
    version: str
    description: str
    content: str
    tags: tuple[str, ...] = ()
    visibility: str = "public"
    needs: tuple[tuple[str, str, bool], ...] = ()
    schema: JsonObject | None = None
    yanked: str | None = None


PEOPLE = (
    Person("security@example.org", recognised=True, key="release key"),
    Person("ada@example.org", key="laptop"),
    Person("grace@example.org", recognised=True),
    Person("newcomer@example.org", approved=False, key="laptop"),
)


def _policies(*policies: dict[str, Any]) -> str:
    return json.dumps(list(policies), indent=2) + "\n"


def _role(name: str, *policies: dict[str, Any]) -> str:
    role = {"name": name, "policies": [each["id"] for each in policies]}
    return json.dumps(role, indent=2) + "\n"


_FORCE_PUSH = {
    "id": "no-force-push",
    "type": "Regex",
    "context": "Shell",
    "pattern": r"^git\b.*\bpush\b.*(?:--force(?:=|\s|$)|\s-f\b)",
    "action": "Block",
    "reason": "a forced push rewrites what others have fetched",
    "suggestion": "git push --force-with-lease",
}
_DELETE_BRANCH = {
    "id": "ask-before-deleting-a-remote-branch",
    "type": "Regex",
    "context": "Shell",
    "pattern": r"^git\b.*\bpush\b.*(?:--delete\b|\s:[^\s])",
    "action": "Flag",
    "reason": "it deletes a branch that others may use",
}
_ANY_PRODUCTION = {
    "id": "production-guard",
    "type": "Regex",
    "context": "Shell",
    "pattern": r"^kubectl\b.*--context[= ]production",
    "action": "Block",
    "reason": "this touches production",
}
_PRODUCTION = {
    "id": "production-guard",
    "type": "Regex",
    "context": "Shell",
    "pattern": (
        r"^kubectl\b(?:.*\s)?(?:apply|delete|drain|edit|exec|patch|replace|rollout|scale)"
        r"\b.*--context[= ]production"
    ),
    "action": "Flag",
    "reason": "this changes production",
    "suggestion": "kubectl --context staging …",
}
_METADATA = {
    "id": "no-cloud-metadata",
    "type": "Regex",
    "context": "Network",
    "pattern": r"^[A-Z]+ https?://169\.254\.169\.254[:/ ]",
    "action": "Block",
    "reason": "the cloud's metadata service hands out credentials",
    "suggestion": "use the credentials that the task was given",
}
_MASK = {
    "id": "mask-access-keys",
    "type": "Regex",
    "context": "Shell",
    "pattern": r"\bAKIA[0-9A-Z]{16}\b",
    "action": "Modify",
    "transform": {
        "type": "Regex",
        "pattern": r"\bAKIA[0-9A-Z]{16}\b",
        "replacement": "[access key]",
    },
    "reason": "access keys stay out of commands and logs",
}
_TOOL = {
    "id": "no-shell-tools",
    "type": "McpTool",
    "context": "Mcp",
    "tool": "run_command",
    "action": "Block",
    "reason": "commands go through the guarded shell",
}
_LEDGER = {
    "id": "no-ledger-writes",
    "type": "Simple",
    "context": "Shell",
    "pattern": "UPDATE ledger",
    "action": "Flag",
    "reason": "the ledger is changed by the payments service alone",
}
_SCHEMA = JsonObject(
    {
        "type": "array",
        "items": {"type": "object", "required": ["id", "type", "action", "reason"]},
    }
)

PUBLICATIONS = (
    Publication(
        "security@example.org",
        "no-force-push",
        "1.0.0",
        "Keeps agents from rewriting branches that others have fetched.",
        _policies(_FORCE_PUSH),
        ("git", "shell"),
    ),
    Publication(
        "security@example.org",
        "production-guard",
        "0.9.0",
        "Keeps agents away from the production cluster.",
        _policies(_ANY_PRODUCTION),
        ("kubernetes", "shell"),
        yanked="it blocks reading, too: use 1.0.0",
    ),
    Publication(
        "security@example.org",
        "production-guard",
        "1.0.0",
        "Holds what changes the production cluster until somebody has agreed.",
        _policies(_PRODUCTION),
        ("kubernetes", "shell"),
    ),
    Publication(
        "ada@example.org",
        "no-shell-tools",
        "1.0.0",
        "Sends MCP tools that run commands through the guarded shell.",
        _policies(_TOOL),
        ("mcp",),
    ),
    Publication(
        "security@example.org",
        "cloud-metadata",
        "1.0.0",
        "Keeps agents from asking the cloud for credentials.",
        _policies(_METADATA),
        ("cloud", "network"),
    ),
    Publication(
        "security@example.org",
        "no-force-push",
        "1.1.0",
        "Keeps agents from rewriting or deleting branches that others have fetched.",
        _policies(_FORCE_PUSH, _DELETE_BRANCH),
        ("git", "shell"),
    ),
    Publication(
        "grace@example.org",
        "mask-access-keys",
        "2.0.0",
        "Takes access keys out of commands.",
        _policies(_MASK),
        ("secrets", "shell"),
        schema=_SCHEMA,
    ),
    Publication(
        "ada@example.org",
        "payments-rules",
        "0.1.0",
        "What agents of the payments team must ask before doing.",
        _policies(_LEDGER),
        ("payments",),
        visibility="private",
    ),
    Publication(
        "security@example.org",
        "developer-baseline",
        "1.0.0",
        "What every developer's agent should have.",
        _role("developer-baseline", _FORCE_PUSH, _DELETE_BRANCH, _PRODUCTION, _MASK),
        ("baseline",),
        needs=(
            ("no-force-push", "1.1.0", True),
            ("production-guard", "1.0.0", True),
            ("mask-access-keys", "2.0.0", False),
        ),
    ),
    Publication(
        "ada@example.org",
        "team-baseline",
        "2026.8",
        "The developer baseline, for teams that work in the cloud with MCP servers.",
        _role("team-baseline", _FORCE_PUSH, _PRODUCTION, _METADATA, _TOOL),
        ("baseline", "cloud", "mcp"),
        needs=(
            ("developer-baseline", "1.0.0", True),
            ("cloud-metadata", "1.0.0", True),
            ("no-shell-tools", "1.0.0", True),
        ),
    ),
)

ENDORSEMENTS = (
    ("grace@example.org", "no-force-push", "1.1.0", "verified"),
    ("ada@example.org", "no-force-push", "1.1.0", "trusted_author"),
    ("security@example.org", "developer-baseline", "1.0.0", "official"),
    ("ada@example.org", "developer-baseline", "1.0.0", "verified"),
)
"""Who, what, which version and how far; the third is the author's own word."""
