"""The clients: which files they read, and where in them the servers are."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from redlane.mcp_clients.edits import JSON, TOML, Syntax
from redlane.mcp_clients.tree import UnreadableError

__all__ = ["CLIENTS", "ConfigLocation", "McpClient", "client_of"]

_SERVERS = (("mcpServers", "*"),)


@dataclass(frozen=True, slots=True)
class ConfigLocation:
    """A directory that a client reads, and the names of its files there.

    The directory is what the variable names, and otherwise lies below `base`: the
    user's home, or XDG_CONFIG_HOME.
    """

    names: tuple[str, ...]
    directory: str = ""
    variable: str = ""
    is_configuration: bool = False

    def files(self, environ: Mapping[str, str]) -> Iterator[Path]:
        """The files, whether they are there or not."""
        home = Path(environ.get("HOME") or "/")
        base = home / self.directory
        if self.is_configuration:
            given = environ.get("XDG_CONFIG_HOME") or ""
            configuration = Path(given) if given.startswith("/") else home / ".config"
            base = configuration / self.directory
        if self.variable and environ.get(self.variable):
            base = Path(environ[self.variable])
        for name in self.names:
            yield from sorted(base.glob(name)) if "*" in name else [base / name]


@dataclass(frozen=True, slots=True)
class McpClient:
    """A client. `servers` are the places of its servers, where `*` is any name.

    `project` are its files in a project, which others may share.
    """

    name: str
    title: str
    user: tuple[ConfigLocation, ...]
    project: tuple[str, ...]
    servers: tuple[tuple[str, ...], ...] = _SERVERS
    syntax: Syntax = JSON
    joined: bool = False

    @property
    def user_endings(self) -> tuple[str, ...]:
        """How the paths of a user's files end."""
        return tuple(
            str(Path(place.directory, name))
            for place in self.user
            for name in place.names
        )

    def is_of_project(self, path: Path, environ: Mapping[str, str]) -> bool:
        """Whether a file is one that lies in a project."""
        users = [each for place in self.user for each in place.files(environ)]
        return path.absolute() not in users and _ends(path, self.project)


def _code(name: str) -> ConfigLocation:
    names = ("mcp.json", "profiles/*/mcp.json")
    return ConfigLocation(names, f"{name}/User", is_configuration=True)


CLIENTS = {
    client.name: client
    for client in (
        McpClient(
            "claude",
            "Claude Code",
            (ConfigLocation((".claude.json",), variable="CLAUDE_CONFIG_DIR"),),
            (".mcp.json",),
            (*_SERVERS, ("projects", "*", "mcpServers", "*")),
        ),
        McpClient(
            "codex",
            "Codex",
            (ConfigLocation(("config.toml",), ".codex", "CODEX_HOME"),),
            (".codex/config.toml",),
            (("mcp_servers", "*"),),
            TOML,
        ),
        McpClient(
            "gemini",
            "Gemini CLI",
            (ConfigLocation(("settings.json",), ".gemini"),),
            (".gemini/settings.json",),
        ),
        McpClient(
            "qwen",
            "Qwen Code",
            (ConfigLocation(("settings.json",), ".qwen"),),
            (".qwen/settings.json",),
        ),
        McpClient(
            "opencode",
            "opencode",
            (
                ConfigLocation(
                    ("opencode.json", "opencode.jsonc", "config.json"),
                    "opencode",
                    is_configuration=True,
                ),
            ),
            ("opencode.json", "opencode.jsonc", ".opencode/opencode.json"),
            (("mcp", "*"),),
            joined=True,
        ),
        McpClient(
            "cursor",
            "Cursor",
            (ConfigLocation(("mcp.json",), ".cursor"),),
            (".cursor/mcp.json",),
        ),
        McpClient(
            "vscode",
            "VS Code",
            (_code("Code"), _code("Code - Insiders"), _code("VSCodium")),
            (".vscode/mcp.json",),
            (("servers", "*"),),
        ),
    )
}
"""Every client that is known, by the name that `--client` takes."""


def client_of(path: Path, chosen: Sequence[McpClient]) -> McpClient | None:
    """Which of the chosen clients reads a file; None when that cannot be told.

    The name says it, and else what is in it, of which Claude Code's form is common.
    """
    if len(chosen) == 1:
        return chosen[0]
    named = [each for each in chosen if _ends(path, each.project + each.user_endings)]
    if len(named) == 1:
        return named[0]
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return named[0] if named else None
    for each in chosen:
        try:
            root = each.syntax.parse(text)
            if any(root.find(place[0]) for place in each.servers):
                return each
        except UnreadableError:
            continue
    return None


def _ends(path: Path, names: Iterable[str]) -> bool:
    """Whether the path ends as one of these relative ones."""
    parts = path.absolute().parts
    return any(parts[-len(each) :] == each for each in (Path(n).parts for n in names))
