"""The import graph is the one that the architecture draws."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLUGINS = sorted(ROOT.glob("plugins/*/redlane_*.py"))


def imports_of(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


def test_imports_go_down_the_floors() -> None:
    # Not in this process, where it would switch off every logger there is.
    linter = Path(sys.executable).with_name("lint-imports")
    words = [str(linter), "--no-cache"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", PLUGINS, ids=lambda path: path.stem)
def test_plugin_imports_nothing_of_the_core_but_its_interface(path: Path) -> None:
    ours = {name for name in imports_of(path) if name.startswith("redlane")}
    assert ours <= {"redlane.api"}


@pytest.mark.parametrize(
    "path",
    sorted(ROOT.glob("product_core/redlane/**/*.py")),
    ids=lambda path: str(path.relative_to(ROOT / "product_core")),
)
def test_core_never_imports_a_plugin_or_the_hub(path: Path) -> None:
    tops = {name.partition(".")[0] for name in imports_of(path)}
    assert not {top for top in tops if top.startswith(("redlane_match", "redlane_hub"))}


LIGHT_COMMANDS = {
    "redlane.cli.validate": ("falcon", "waitress", "jsonschema", "http", "asyncio"),
    "redlane.cli.config": ("falcon", "waitress", "jsonschema", "http", "asyncio"),
    "redlane.cli.main": ("falcon", "waitress", "re2", "pluggy", "http", "asyncio"),
}


@pytest.mark.parametrize("module", LIGHT_COMMANDS)
def test_command_starts_light(module: str) -> None:
    heavy = LIGHT_COMMANDS[module]
    program = (
        f"import {module}, sys; "
        f"print(*[name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", program],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == []
