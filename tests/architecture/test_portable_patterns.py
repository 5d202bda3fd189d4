"""Regular expressions mean the same on every Python that Redlane runs on.

Python before 3.11.5 reads too far in a possessive repeat of a group when a round of it
fails in its middle, and loses track of groups that such a repeat captures.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pattern_census import Spelling, findings
from pattern_samples import texts_for

parser: Any = re._parser  # type: ignore[attr-defined]  # nothing public tells how it reads
ROOT = Path(__file__).parents[2]
TEXTS_EACH = 300


@pytest.fixture(scope="module")
def patterns() -> list[Spelling]:
    # Not in this process: all that Redlane imports would stay in it.
    command = (sys.executable, ROOT / "tests" / "pattern_census.py", "census")
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [
        (text, is_bytes, flags) for text, is_bytes, flags in json.loads(done.stdout)
    ]


def test_rounds_of_a_possessive_repeat_cannot_fail(patterns: list[Spelling]) -> None:
    assert not [text for text, _, flags in patterns if is_risky(text, flags)]


def test_sources_write_no_possessive_repeat_that_can_fail() -> None:
    risky = re.compile(r"(?<!\|)(?<!\| )\)(?:[*+?]|\{\d*,?\d*\})\+")
    places = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for top in ("product_core", "plugins", "hub")
        for path in ROOT.glob(f"{top}/**/*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if risky.search(line)
    ]
    assert places == []


@pytest.mark.parametrize(
    ("pattern", "is_refused"),
    [
        ("(?:ab|c)*+", True),
        ("(?:ab)?+", True),
        ("(?:ab){2,}+", True),
        ("(?:(a)|b|)*+", True),
        ("x(?:y(?:ab|c)*+|)*+", True),
        ("(?:ab|c|)*+", False),
        ("[ab]*+c?+d{3,}+", False),
        ("((?:ab|c|)*+)", False),
    ],
)
def test_the_house_knows_a_risky_pattern(pattern: str, is_refused: bool) -> None:  # noqa: FBT001  # a table's column
    assert is_risky(pattern, 0) == is_refused


def is_risky(pattern: str, flags: int) -> bool:
    """Whether a round may fail in its middle, or captures what a later one needs."""
    tree = parser.parse(pattern, flags & ~re.UNICODE.value)
    repeats = [
        body
        for kind, given in operations(tree)
        if kind is parser.POSSESSIVE_REPEAT
        for body in given[2:]
        if not (len(body) == 1 and body[0][0] in SINGLE)
    ]
    return any(
        not ends_with_an_empty_choice(body)
        or any(
            kind is parser.SUBPATTERN and given[0] is not None
            for kind, given in operations(body)
        )
        for body in repeats
    )


SINGLE = (parser.LITERAL, parser.NOT_LITERAL, parser.ANY, parser.IN, parser.CATEGORY)


def ends_with_an_empty_choice(body: Any) -> bool:
    while len(body) == 1 and body[0][0] is parser.SUBPATTERN:
        body = body[0][1][-1]
    if len(body) != 1 or body[0][0] is not parser.BRANCH:
        return False
    return len(body[0][1][1][-1]) == 0


def operations(tree: Any) -> Iterator[tuple[Any, Any]]:
    """All operations of a pattern, the inner ones too."""
    if isinstance(tree, parser.SubPattern):
        for kind, given in tree:
            yield kind, given
            yield from operations(given)
    elif isinstance(tree, list | tuple):
        for each in tree:
            yield from operations(each)


def other_python() -> list[str]:
    """The command of another Python: that of REDLANE_OTHER_PYTHON, or a newer one."""
    if named := os.environ.get("REDLANE_OTHER_PYTHON"):
        return shlex.split(named)
    command = shutil.which("python3.13") or "python3.13"
    with suppress(OSError):
        if subprocess.run([command, "-c", ""], check=False).returncode == 0:
            return [command]
    pytest.skip("NOT COMPARED: REDLANE_OTHER_PYTHON names no other Python")


@pytest.mark.slow
def test_patterns_find_the_same_on_another_python(patterns: list[Spelling]) -> None:
    other = other_python()
    asked = [(each, list(texts_for(each[0], each[2], TEXTS_EACH))) for each in patterns]
    program = (ROOT / "tests" / "pattern_census.py").read_text(encoding="utf-8")
    done = subprocess.run(
        [*other, "-I", "-c", program],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
    )
    differences = [
        (spelling[0], text)
        for (spelling, given), found in zip(asked, json.loads(done.stdout), strict=True)
        for text, here, there in zip(
            given, findings(spelling, given), found, strict=True
        )
        if here != there
    ]
    assert differences == []
