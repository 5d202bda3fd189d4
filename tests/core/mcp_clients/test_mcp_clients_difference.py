"""What `--dry-run` shows is what `patch` would do, however long the file."""

import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp_configurations import CONFIGURATIONS, Configuration
from tiers import examples

from redlane.mcp_clients.difference import difference

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "\r"]), max_size=30)
PLAIN = settings(
    max_examples=examples(40),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def patched(before: str, shown: str, place: Path) -> str:
    """The text after `patch` has applied what is shown."""
    if shutil.which("patch") is None:
        pytest.skip("NOT TESTED: patch is not installed")
    place.write_bytes(before.encode())
    subprocess.run(
        ["patch", "--binary", "--silent", "--fuzz=0", str(place)],
        input=shown.encode(),
        check=True,
        capture_output=True,
    )
    # An empty file is one that patch takes away.
    return place.read_bytes().decode() if place.exists() else ""


@pytest.mark.parametrize("sample", CONFIGURATIONS.values(), ids=CONFIGURATIONS)
def test_what_is_shown_leads_to_what_is_written(
    sample: Configuration, tmp_path: Path
) -> None:
    before, after = sample.before.decode(), sample.after.decode()
    shown = difference(before, after, "file")

    assert patched(before, shown, tmp_path / "file") == after


@PLAIN
@given(LINES, LINES, st.sampled_from(["", "\n"]), st.sampled_from(["", "\n"]))
def test_any_texts(
    tmp_path: Path, one: list[str], other: list[str], end: str, other_end: str
) -> None:
    before, after = "\n".join(one) + end, "\n".join(other) + other_end
    shown = difference(before, after, "file")

    assert bool(shown) == (before != after)
    if shown:
        assert patched(before, shown, tmp_path / "file") == after


def test_a_long_file_of_equal_lines_takes_no_time() -> None:
    lines = ["same\n"] * 100_000
    changed = [*lines[:50_000], "new\n", *lines[50_000:]]
    begun = time.process_time()

    assert difference("".join(lines), "".join(changed), "f").count("\n+new\n") == 1
    assert time.process_time() - begun < 5
