"""The import graph is the one that the architecture draws."""

import subprocess
import sys
from pathlib import Path

import pytest
from architecture.sources import ROOT, imports_of, parsed, refuse, relative, tracked


def test_imports_go_down_the_floors() -> None:
    # Not in this process, where it would switch off every logger there is.
    linter = Path(sys.executable).with_name("lint-imports")
    words = [str(linter), "--no-cache"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_plugins_import_nothing_of_the_core_but_its_interface() -> None:
    plugins = tracked("plugins/*.py")
    assert {path.relative_to(ROOT).parts[1] for path in plugins} == {
        path.parent.name for path in ROOT.glob("plugins/*/pyproject.toml")
    }
    refuse(each for path in plugins for each in reaching_into_the_core(path))


def reaching_into_the_core(path: Path) -> list[str]:
    """What a plugin's module imports of ours beyond the interface and its own package.

    The third part of its path is that package, or the module that the plugin is.
    """
    own = path.relative_to(ROOT).parts[2].removesuffix(".py")
    return [
        f"{relative(path)}: {name}"
        for name in sorted(imports_of(parsed(path)))
        if name.startswith("redlane") and name != "redlane.api"
        if name.partition(".")[0] != own
    ]


def test_core_never_imports_a_plugin_or_the_hub() -> None:
    refuse(
        f"{relative(path)}: {name}"
        for path in tracked("product_core/redlane/*.py")
        for name in sorted(imports_of(parsed(path)))
        if name.startswith("redlane_")
    )


LIGHT_COMMANDS = {
    "redlane.cli.validate": ("falcon", "waitress", "jsonschema", "http", "asyncio"),
    "redlane.cli.config": ("falcon", "waitress", "jsonschema", "http", "asyncio"),
    "redlane.cli.hub": ("urllib3", "nacl", "falcon", "jsonschema", "asyncio", "re2"),
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
