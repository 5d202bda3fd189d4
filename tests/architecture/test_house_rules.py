"""Sizes, public names and words that every file keeps to."""

import ast
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOST_LINES = 400
MOST_FUNCTION_LINES = 60


def tracked(*patterns: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", *patterns],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [ROOT / name for name in listed.stdout.split("\0") if name]


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


SOURCES = tracked("product_core/*.py", "plugins/*.py", "hub/*.py")
CODE = tracked("*.py", "*.c", "*.h", "*.sh")
TEXT = [
    path
    for path in tracked()
    if path.suffix not in {".png", ".gz"} and path.name != "constraints.txt"
]


@pytest.mark.parametrize("path", CODE, ids=relative)
def test_file_is_small(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_functions_fit_on_a_screen(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    long = [
        f"{node.name}: {node.end_lineno - node.lineno + 1}"
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.end_lineno is not None
        if node.end_lineno - node.lineno >= MOST_FUNCTION_LINES
    ]
    assert not long


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_module_says_what_it_is_for_and_what_it_offers(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree)
    names = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    if path.name not in {"__init__.py", "setup.py", "__main__.py"}:
        assert "__all__" in names


BOUNDARIES = {
    "hub/redlane_hub/services/reset_mail.py",
    "hub/redlane_hub/cli/main.py",
    "plugins/context_syscall/redlane_context_syscall/loop.py",
    "product_core/redlane/cli/main.py",
    "product_core/redlane/contexts/shell/client/main.py",
    "product_core/redlane/control/server.py",
    "product_core/redlane/control/shell_desk.py",
    "product_core/redlane/engine/boundary.py",
    "product_core/redlane/plugins.py",
    "product_core/redlane/policies/asking.py",
    "product_core/redlane/proxy/addon.py",
    "product_core/redlane/proxy/hooks.py",
    "product_core/redlane/proxy/judge.py",
    "product_core/redlane/proxy/main.py",
}
"""Where foreign code or a request ends: these catch everything and fail closed."""


def test_only_the_boundaries_catch_everything() -> None:
    catching = {relative(path) for path in SOURCES if swallows_everything(path)}
    assert catching == BOUNDARIES


def swallows_everything(path: Path) -> bool:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return any(
        catches_everything(node) and not isinstance(node.body[-1], ast.Raise)
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler)
    )


def catches_everything(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    names = {node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)}
    return bool(names & {"Exception", "BaseException"})


@pytest.mark.parametrize("path", TEXT, ids=relative)
def test_no_path_of_one_machine(path: Path) -> None:
    text = path.read_text(encoding="utf-8", errors="replace")
    homes = "/" + "work/", "/" + "root/."
    assert not [home for home in homes if home in text]
