"""Sizes, public names and words that every file keeps to.

Each rule is one test, which names every offender.
"""

import ast
import re
from pathlib import Path

from architecture.sources import ROOT, functions_of, parsed, refuse, relative, tracked

MOST_LINES = 400
MOST_FUNCTION_LINES = 60

SOURCES = tracked("product_core/*.py", "plugins/*.py", "hub/*.py")
CODE = tracked("*.py", "*.c", "*.h", "*.sh")
TEXT = [
    path
    for path in tracked()
    if path.suffix not in {".png", ".gz"} and path.name != "constraints.txt"
]


def test_files_are_small() -> None:
    assert CODE
    sizes = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in CODE}
    refuse(
        f"{relative(path)}: {size} lines"
        for path, size in sizes.items()
        if size > MOST_LINES
    )


def test_functions_fit_on_a_screen() -> None:
    refuse(each for path in SOURCES for each in long_functions(path))


def long_functions(path: Path) -> list[str]:
    return [
        f"{relative(path)}: {node.name}: {node.end_lineno - node.lineno + 1} lines"
        for node in functions_of(parsed(path))
        if node.end_lineno is not None
        if node.end_lineno - node.lineno >= MOST_FUNCTION_LINES
    ]


def test_asynchronous_functions_are_measured_too() -> None:
    tree = ast.parse("class One:\n    async def wait(self): ...\n")
    assert [node.name for node in functions_of(tree)] == ["wait"]


def test_modules_say_what_they_are_for() -> None:
    refuse(relative(path) for path in SOURCES if not ast.get_docstring(parsed(path)))


def test_modules_say_what_they_offer() -> None:
    unnamed = {"__init__.py", "setup.py", "__main__.py"}
    refuse(
        relative(path)
        for path in SOURCES
        if path.name not in unnamed and "__all__" not in assigned(parsed(path))
    )


def assigned(tree: ast.Module) -> set[str]:
    return {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


BOUNDARIES = {
    "hub/redlane_hub/services/reset_mail.py",
    "hub/redlane_hub/cli/main.py",
    "plugins/context_syscall/redlane_context_syscall/loop.py",
    "product_core/redlane/cli/main.py",
    "product_core/redlane/control/server.py",
    "product_core/redlane/judging/shell_service.py",
    "product_core/redlane/engine/boundary.py",
    "plugins/match_ml/redlane_match_ml/worker.py",
    "product_core/redlane/plugin_commands.py",
    "product_core/redlane/plugin_points.py",
    "product_core/redlane/plugins.py",
    "product_core/redlane/policies/asking.py",
    "product_core/redlane/preparing.py",
    "product_core/redlane/proxy/addon.py",
    "product_core/redlane/proxy/hooks.py",
    "product_core/redlane/proxy/judge.py",
    "product_core/redlane/proxy/main.py",
    "product_core/redlane/tracing/kernel_tracer.py",
}
"""Where foreign code or a request ends: these catch everything and fail closed."""


def test_only_the_boundaries_catch_everything() -> None:
    catching = {relative(path) for path in SOURCES if swallows_everything(path)}
    assert catching == BOUNDARIES


def swallows_everything(path: Path) -> bool:
    return any(
        catches_everything(node) and not isinstance(node.body[-1], ast.Raise)
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.ExceptHandler)
    )


def catches_everything(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    names = {node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)}
    return bool(names & {"Exception", "BaseException"})


def test_no_path_of_one_machine() -> None:
    homes = "/" + "work/", "/" + "root/."
    refuse(
        f"{relative(path)}: {home}"
        for path in TEXT
        for home in homes
        if home in path.read_text(encoding="utf-8", errors="replace")
    )


def test_tests_of_each_room_are_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\btests/[\w./*]+", text))
    assert named
    refuse(each for each in named if not list(ROOT.glob(each)))
