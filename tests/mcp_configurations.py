"""Configurations of MCP clients in the forms that their manuals show."""

from dataclasses import dataclass
from pathlib import Path

__all__ = ["CONFIGURATIONS", "PROGRAM", "Configuration"]

PROGRAM = "/usr/bin/redlane"
_DATA = Path(__file__).with_name("data") / "mcp_clients"


@dataclass(frozen=True)
class Configuration:
    """A file below the home; `left` are the servers that no command starts."""

    id: str
    client: str
    path: str
    left: tuple[str, ...] = ()

    @property
    def before(self) -> bytes:
        """The file as a user has it."""
        return (_DATA / self.id / "before").read_bytes()

    @property
    def after(self) -> bytes:
        """The file once its servers go through Redlane."""
        return (_DATA / self.id / "after").read_bytes()


CONFIGURATIONS = {
    each.id: each
    for each in (
        Configuration(
            "claude-user-and-projects", "claude", ".claude.json", ("sentry",)
        ),
        Configuration("claude-project", "claude", "project/.mcp.json"),
        Configuration("codex", "codex", ".codex/config.toml", ("figma",)),
        Configuration(
            "codex-windows-lines-and-inline", "codex", "project/.codex/config.toml"
        ),
        Configuration(
            "gemini",
            "gemini",
            ".gemini/settings.json",
            (
                "http",
                "sse",
            ),
        ),
        Configuration(
            "opencode",
            "opencode",
            ".config/opencode/opencode.jsonc",
            (
                "remote",
                "default",
            ),
        ),
        Configuration("cursor", "cursor", ".cursor/mcp.json", ("remote",)),
        Configuration("vscode", "vscode", ".config/Code/User/mcp.json", ("github",)),
    )
}
