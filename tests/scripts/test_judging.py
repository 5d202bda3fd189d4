"""Which files are scripts, which of them are judged, and what people are told."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from scripts.judging import main
from scripts.packages import PINS, pinned, written
from scripts.places import distinct, is_script, scripts_below, spread

SHELL = b"#!/bin/sh\necho hello\n"


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("run", b"#!/bin/sh\n"),
        ("run", b"#! /bin/sh -e\n"),
        ("run", b"#!/usr/bin/bash\n"),
        ("run", b"#!/usr/bin/env bash\n"),
        ("run", b"#!/usr/bin/env -S dash -u\n"),
        ("lib/common.sh", b"say() {\n"),
        ("venv/bin/activate", b"# This file is sourced\n"),
        ("debian/hello.postinst", b"set -e\n"),
        ("templates/hooks--update.sample", b"# To enable this hook\n"),
    ],
)
def test_shell_script_is_known(name: str, first: bytes) -> None:
    assert is_script(name, first)


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("run", b"echo hello\n"),
        ("run", b"#!/bin/shred\n"),
        ("run", b"#!/usr/bin/env python3\n"),
        ("configure", b"#!/usr/bin/perl\n"),
        ("image.sh", b"\x7fELF\0\0"),
    ],
)
def test_other_file_is_none(name: str, first: bytes) -> None:
    assert not is_script(name, first)


def test_equal_scripts_are_one_and_links_are_none(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(SHELL)
    (tmp_path / "c").symlink_to("a")
    assert distinct(scripts_below(tmp_path)) == [tmp_path / "a"]


@pytest.mark.parametrize(("count", "kept"), [(3, 3), (4, 4), (5, 3), (100, 4)])
def test_scripts_of_one_directory_are_spread(count: int, kept: int) -> None:
    paths = [Path("tests", str(each)) for each in range(count)]
    assert len(spread([*paths, Path("configure")], 4)) == kept + 1


def test_every_archive_is_pinned_by_its_hash() -> None:
    archives = [each for package in pinned() for each in package.files.values()]
    assert archives
    assert all(re.fullmatch(r"[0-9a-f]{64}", each) for each in archives)
    assert PINS.read_text("utf-8") == written(pinned())


def test_packages_have_directories_of_their_own() -> None:
    counts = Counter(each.directory for each in pinned())
    assert set(counts.values()) == {1}


def test_people_see_the_worst_last(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a").write_text("#!/bin/sh\nrm -rf /\n")
    (tmp_path / "b").write_bytes(SHELL)
    assert main([str(tmp_path)]) == 1
    allowed, blocked, summary = capsys.readouterr().out.splitlines()
    assert allowed.startswith(f"{tmp_path}/b: ALLOW, ")
    assert blocked.startswith(f"{tmp_path}/a: BLOCK by shell-remove-home-or-system: ")
    assert summary.startswith("2 scripts (1 ALLOW, 1 BLOCK); 50%: ")


def test_programs_see_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "a"
    script.write_bytes(SHELL)
    assert main(["--json", str(script)]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found.pop("seconds") >= 0
    assert found == {
        "path": str(script),
        "decision": "ALLOW",
        "policy": None,
        "reason": "",
    }
