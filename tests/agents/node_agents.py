"""Agents from the npm registry: Claude Code, Codex and Gemini CLI."""

import json
import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from agents.agent import PROMPT, Agent, Place
from agents.scripted_model import MODEL, Call, Step

__all__ = ["NODE_AGENTS"]

NPM = (
    "@anthropic-ai/claude-code@2.1.197",
    "@openai/codex@0.169.0",
    "@google/gemini-cli@0.61.0",
)
KEY = "no-key-is-wanted"


def _program(place: Place, name: str) -> str:
    return str(place.programs / "node_modules" / ".bin" / name)


def _written(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


# Claude Code


def _run_claude(place: Place) -> list[str]:
    # The launcher in `.bin` is a stub until a script of the package has run, which npm
    # leaves out: what it would put there is the program of this platform's package.
    native = "node_modules/@anthropic-ai/claude-code-linux-x64/claude"
    program = str(place.programs / native)
    return [program, "-p", PROMPT, "--dangerously-skip-permissions"]


def _claude_environment(place: Place) -> Mapping[str, str]:
    return {
        "ANTHROPIC_BASE_URL": place.url,
        "ANTHROPIC_API_KEY": KEY,
        "ANTHROPIC_MODEL": MODEL,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        # Without it, root's sessions ask for permissions.
        **({"IS_SANDBOX": "1"} if os.getuid() == 0 else {}),
    }


def _configure_claude(place: Place) -> None:
    settled = {"hasCompletedOnboarding": True, "installMethod": "npm"}
    _written(place.home / ".claude.json", json.dumps(settled))


CLAUDE = Agent(
    name="claude",
    kind="npm",
    packages=NPM,
    command=_run_claude,
    environment=_claude_environment,
    configure=_configure_claude,
    shell=lambda command: Call("Bash", {"command": command, "description": "do it"}),
    write=lambda path, text: Call("Write", {"file_path": str(path), "content": text}),
    read=lambda path: Call("Read", {"file_path": str(path)}),
)


# Codex

CODEX_SETTINGS = """\
model = "{model}"
model_provider = "scripted"
approval_policy = "never"
check_for_update_on_startup = false

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"

[analytics]
enabled = false
"""


def _configure_codex(place: Place) -> None:
    text = CODEX_SETTINGS.format(model=MODEL, url=place.url)
    _written(place.home / ".codex" / "config.toml", text)
    (place.home / "tmp").mkdir(exist_ok=True)


def _codex_environment(place: Place) -> Mapping[str, str]:
    # It puts no programs below a temporary directory, as the homes of tests are, and
    # its sandbox wants one: so it is told of another.
    return {"SCRIPTED_KEY": KEY, "TMPDIR": str(place.home / "tmp")}


def _patch(path: Path, text: str) -> Step:
    """Its own way to write a file: a command that it does not run, but does itself."""
    added = "".join(f"+{line}\n" for line in text.splitlines())
    patch = f"*** Begin Patch\n*** Add File: {path}\n{added}*** End Patch\n"
    return _codex_shell(f"apply_patch <<'EOF'\n{patch}EOF")


def _codex_shell(command: str) -> Step:
    return Call("exec_command", {"cmd": command})


def _codex(name: str, sandbox: str) -> Agent:
    def command(place: Place) -> list[str]:
        program = _program(place, "codex")
        options = ["--skip-git-repo-check", "-s", sandbox]
        return [program, "exec", *options, PROMPT]

    return Agent(
        name=name,
        kind="npm",
        packages=NPM,
        command=command,
        environment=_codex_environment,
        configure=_configure_codex,
        shell=_codex_shell,
        write=_patch,
        read=lambda path: _codex_shell(f"cat {shlex.quote(str(path))}"),
        refused="Failed to write|rejected|blocked",
        # The snapshot of its shell gives session variables the values that they have.
        does_without="^builtin:session-variables: .*shell_snapshots",
        is_boxed=sandbox != "danger-full-access",
    )


CODEX = _codex("codex", "danger-full-access")
CODEX_BOXED = _codex("codex-sandboxed", "workspace-write")


# Gemini CLI


def _configure_gemini(place: Place) -> None:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"disableAutoUpdate": True, "disableUpdateNag": True},
        "telemetry": {"enabled": False},
    }
    _written(place.home / ".gemini" / "settings.json", json.dumps(settings))


GEMINI = Agent(
    name="gemini",
    kind="npm",
    packages=NPM,
    command=lambda place: [
        *(_program(place, "gemini"), "-p", PROMPT),
        *("--approval-mode", "yolo", "-m", "gemini-2.5-flash", "--skip-trust"),
        # Otherwise its own tools leave all else alone, and nothing would meet us.
        *("--include-directories", str(place.home)),
    ],
    environment=lambda place: {
        "GEMINI_API_KEY": KEY,
        "GOOGLE_GEMINI_BASE_URL": place.url,
    },
    configure=_configure_gemini,
    shell=lambda command: Call("run_shell_command", {"command": command}),
    write=lambda path, text: Call(
        "write_file", {"file_path": str(path), "content": text}
    ),
    read=lambda path: Call("read_file", {"file_path": str(path)}),
)

NODE_AGENTS = (CLAUDE, CODEX, CODEX_BOXED, GEMINI)
