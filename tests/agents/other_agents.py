"""Agents that speak OpenAI's chat API, from the registries of npm and of Python."""

import json
import shlex
from pathlib import Path

from agents.agent import PROMPT, Agent, Place
from agents.scripted_model import MODEL, SIDE_MODEL, Call, Step

__all__ = ["OTHERS"]

NPM = ("@qwen-code/qwen-code@0.15.10", "opencode-ai@1.18.33")
KEY = "no-key-is-wanted"


def _npm_program(place: Place, name: str) -> str:
    return str(place.programs / "node_modules" / ".bin" / name)


def _pip_program(place: Place, name: str) -> str:
    return str(place.programs / "bin" / name)


def _openai(place: Place) -> dict[str, str]:
    return {
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": f"{place.url}/v1",
        "OPENAI_API_BASE": f"{place.url}/v1",
        "OPENAI_MODEL": MODEL,
        # Prices of models would be fetched.
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }


def _written(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def _python(program: str) -> str:
    """A command that runs a program, for agents without tools for files."""
    return f"/usr/bin/python3 -c {shlex.quote(program)}"


def _backwards(path: Path) -> str:
    """An expression for a path that no text of a command gives away."""
    return f"{str(path)[::-1]!r}[::-1]"


def _writing(path: Path, text: str) -> str:
    return f"print(open({_backwards(path)}, 'w').write({text!r}))"


def _reading(path: Path) -> str:
    return f"print(open({_backwards(path)}).read())"


# Qwen Code


QWEN = Agent(
    name="qwen",
    kind="npm",
    packages=NPM,
    command=lambda place: [
        *(_npm_program(place, "qwen"), "-p", PROMPT),
        *("--yolo", "--auth-type", "openai"),
    ],
    environment=_openai,
    configure=lambda place: _written(
        place.home / ".qwen" / "settings.json",
        json.dumps(
            {
                "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
                "privacy": {"usageStatisticsEnabled": False},
            }
        ),
    ),
    shell=lambda command: Call(
        "run_shell_command", {"command": command, "is_background": False}
    ),
    write=lambda path, text: Call(
        "write_file", {"file_path": str(path), "content": text}
    ),
    read=lambda path: Call("read_file", {"file_path": str(path)}),
    wants_account=True,
)


# opencode


def _run_opencode(place: Place) -> list[str]:
    # A script of its package, which npm leaves out, would put the program of this
    # platform's package into the place of the launcher.
    program = place.programs / "node_modules/opencode-linux-x64/bin/opencode"
    return [str(program), "run", "-m", f"scripted/{MODEL}", PROMPT]


def _configure_opencode(place: Place) -> None:
    settings = {
        "$schema": "https://opencode.ai/config.json",
        "autoupdate": False,
        "share": "disabled",
        "permission": "allow",
        "provider": {
            "scripted": {
                "npm": "@ai-sdk/openai-compatible",
                "name": "Scripted",
                "options": {"baseURL": f"{place.url}/v1", "apiKey": KEY},
                "models": {MODEL: {"name": MODEL}},
            }
        },
    }
    _written(place.home / ".config/opencode/opencode.json", json.dumps(settings))


OPENCODE = Agent(
    name="opencode",
    kind="npm",
    packages=NPM,
    command=_run_opencode,
    environment=lambda _: {
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
    },
    configure=_configure_opencode,
    shell=lambda command: Call("bash", {"command": command, "description": "do it"}),
    write=lambda path, text: Call("write", {"filePath": str(path), "content": text}),
    read=lambda path: Call("read", {"filePath": str(path)}),
    # It names no reason for a file that it could not open.
    refused="ermission|EPERM|not permitted|Unknown: FileSystem",
)


# mini-swe-agent


def _mini_shell(command: str) -> Step:
    return Call("bash", {"command": command})


MINI = Agent(
    name="mini-swe-agent",
    kind="pip",
    packages=("mini-swe-agent==2.4.6", "litellm==1.81.10"),
    command=lambda place: [
        *(_pip_program(place, "mini"), "-m", f"openai/{MODEL}", "-t", PROMPT),
        *("-y", "--exit-immediately", "-o", str(place.project / "trajectory.json")),
    ],
    environment=lambda place: {
        **_openai(place),
        "MSWEA_CONFIGURED": "true",
        "MSWEA_COST_TRACKING": "ignore_errors",
        "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": "1",
    },
    configure=lambda _: None,
    shell=_mini_shell,
    write=lambda path, text: _mini_shell(_python(_writing(path, text))),
    read=lambda path: _mini_shell(_python(_reading(path))),
    is_terse=False,
    last=_mini_shell("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"),
)


# aider


CHECK = "check.sh"


def _whole(path: Path | str, text: str) -> Step:
    """A file as aider takes it from an answer, to write it."""
    return f"This is the file:\n\n{path}\n```\n{text}\n```\n"


def _aider_shell(command: str) -> Step:
    """It runs no command of the model's unasked, but the tests of what was written.

    What they say is told to the model where they fail.
    """
    return _whole(CHECK, f"{command}\nexit 1")


AIDER = Agent(
    name="aider",
    kind="pip",
    packages=("aider-chat==0.86.2",),
    command=lambda place: [
        *(_pip_program(place, "aider"), "--message", PROMPT, "--yes-always"),
        *("--model", f"openai/{MODEL}", "--weak-model", f"openai/{SIDE_MODEL}"),
        *("--edit-format", "whole", "--auto-test", "--test-cmd", f"sh {CHECK}"),
        *("--no-check-update", "--analytics-disable", "--no-show-model-warnings"),
        # In a repository it writes to no file outside by itself.
        *("--no-git", "--no-pretty", "--no-show-release-notes"),
    ],
    environment=_openai,
    configure=lambda _: None,
    shell=_aider_shell,
    write=_whole,
    read=lambda path: _aider_shell(_python(_reading(path))),
    # That it could not write is told to the person: the model sees what is still there.
    refused="ermission|# what a shell starts with",
    # It lets the model mend what it has done three times.
    at_most=3,
    is_terse=False,
)


# smolagents


SMOLAGENT = """\
import sys
from smolagents import CodeAgent, OpenAIServerModel
model = OpenAIServerModel(sys.argv[1], api_base=sys.argv[2], api_key=sys.argv[3])
CodeAgent(tools=[], model=model, additional_authorized_imports=["*"]).run(sys.argv[4])
"""
"""It is a library: this is the least that makes an agent of it."""


def _code(*lines: str) -> Step:
    text = "\n".join(lines)
    return f"Thought: this does it.\n<code>\n{text}\n</code>"


SMOL = Agent(
    name="smolagents",
    kind="pip",
    packages=("smolagents==1.26.0", "openai"),
    command=lambda place: [
        *(_pip_program(place, "python"), str(place.home / "agent.py")),
        *(MODEL, f"{place.url}/v1", KEY, PROMPT),
    ],
    environment=lambda _: {"HF_HUB_OFFLINE": "1"},
    configure=lambda place: _written(place.home / "agent.py", SMOLAGENT),
    shell=lambda command: _code(
        "import subprocess",
        "out, error = subprocess.PIPE, subprocess.STDOUT",
        f"done = subprocess.run({command!r}, shell=True, stdout=out, stderr=error)",
        "print(done.returncode, done.stdout.decode())",
    ),
    write=lambda path, text: _code(
        "import pathlib", f"print(pathlib.Path({str(path)!r}).write_text({text!r}))"
    ),
    read=lambda path: _code(
        "import pathlib", f"print(pathlib.Path({str(path)!r}).read_text())"
    ),
    is_terse=False,
    last=_code("final_answer('All of it is done.')"),
)

OTHERS = (QWEN, OPENCODE, MINI, AIDER, SMOL)
