"""What the environment can make a shell do is judged or taken out."""

from pathlib import Path

import pytest
from spec.redlane_home import Home


@pytest.fixture
def trap(agent: Home, canary: Path) -> str:
    """A file with a forbidden command."""
    path = agent.user / "trap.sh"
    path.write_text(f"touch {canary}; : forbidden\n")
    return str(path)


ENVIRONMENTS = {
    "bash-env": ({"BASH_ENV": "TRAP"}, ("-c", "true")),
    "bash-env-substitution": (
        {"BASH_ENV": "$(touch CANARY; : forbidden)"},
        ("-c", "true"),
    ),
    "env-posix": ({"ENV": "TRAP", "POSIXLY_CORRECT": "1"}, ("-ic", "true")),
    "exported-function": (
        {"BASH_FUNC_true%%": "() { touch CANARY; : forbidden; }"},
        ("-c", "true"),
    ),
    "exported-function-of-a-command": (
        {"BASH_FUNC_ls%%": "() { touch CANARY; : forbidden; }"},
        ("-c", "ls"),
    ),
    "xtrace-ps4": (
        {"SHELLOPTS": "xtrace", "PS4": "$(touch CANARY; : forbidden)"},
        ("-c", "true"),
    ),
    "ps4-with-x": ({"PS4": "$(touch CANARY; : forbidden)"}, ("-xc", "true")),
    "prompt-command": (
        {"PROMPT_COMMAND": "touch CANARY; : forbidden"},
        ("-i",),
    ),
    "ps1": ({"PS1": "$(touch CANARY; : forbidden)"}, ("-i",)),
}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_environment_runs_nothing_forbidden(
    agent: Home, canary: Path, trap: str, name: str
) -> None:
    variables, args = ENVIRONMENTS[name]
    env: dict[str, str | None] = {
        key: value.replace("CANARY", str(canary)).replace("TRAP", trap)
        for key, value in variables.items()
    }

    agent.shell(*args, env=env, stdin="true\n")

    assert not canary.exists()


@pytest.mark.parametrize("shape", ["directory-in-path", "shell-variable"])
def test_the_environment_cannot_name_another_bash(
    agent: Home, canary: Path, shape: str
) -> None:
    fake = agent.user / "bin" / "bash"
    fake.parent.mkdir(exist_ok=True)
    fake.write_text(f"#!/bin/sh\ntouch {canary}\n")
    fake.chmod(0o755)
    env: dict[str, str | None] = (
        {"PATH": f"{fake.parent}:{agent.env['PATH']}"}
        if shape == "directory-in-path"
        else {"SHELL": str(fake), "BASH": str(fake)}
    )

    ran = agent.shell("-c", "echo hello", env=env)

    assert ran.out == "hello\n"
    assert not canary.exists()
