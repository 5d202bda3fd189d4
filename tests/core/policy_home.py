"""A directory of policy files for tests, and what a load of it says."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from sample_context import SampleContext

from redlane.model.problem import Finding
from redlane.paths import Paths
from redlane.plugins import Plugins, find_plugins
from redlane.policies.loaded import Loaded
from redlane.policies.loading import load

__all__ = ["PLUGINS", "PolicyHome", "mcp_tool", "regex", "simple", "told"]

PLUGINS = replace(find_plugins(), contexts={"Syscall": SampleContext()})


class PolicyHome:
    """Writes files below a temporary HOME and loads them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.paths = Paths.from_environment({"HOME": str(root)})

    def write(self, path: str, value: Any) -> Path:
        """Write JSON (or bytes as they are) below `~/.redlane`."""
        file = self.paths.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        file.write_bytes(data)
        return file

    def policies(self, *policies: Any, file: str = "p.json") -> Path:
        return self.write(f"policies/{file}", list(policies))

    def role(self, name: str, *policies: str, file: str = "") -> Path:
        value = {"name": name, "policies": list(policies)}
        return self.write(f"roles/{file or name + '.json'}", value)

    def settings(self, value: Any) -> Path:
        return self.write("settings.json", value)

    def legacy(self, value: Any) -> Path:
        file = self.paths.legacy_policies
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(value), encoding="utf-8")
        return file

    def load(
        self, plugins: Plugins = PLUGINS, only_roles: frozenset[str] | None = None
    ) -> Loaded:
        return load(self.paths, plugins, only_roles)


def simple(name: str, pattern: str | None = "rm", **fields: Any) -> dict[str, Any]:
    """A Simple policy, Block unless said otherwise."""
    return {
        "id": name,
        "type": "Simple",
        "action": "Block",
        "pattern": pattern,
        **fields,
    }


def regex(name: str, pattern: str = "rm", **fields: Any) -> dict[str, Any]:
    """A Regex policy, Block unless said otherwise."""
    return {**simple(name, pattern), "type": "Regex", **fields}


def mcp_tool(name: str, **fields: Any) -> dict[str, Any]:
    """An McpTool policy, Block unless said otherwise."""
    return {"id": name, "type": "McpTool", "action": "Block", **fields}


def told(findings: tuple[Finding, ...]) -> list[tuple[str, str, str]]:
    """Findings as (file name, subject, message)."""
    return [(Path(f.file).name, f.subject, f.message) for f in findings]
