"""A home whose sessions start shells and programs under filters of their own."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from spec.redlane_home import REDLANE, Home, Ran, wait_for
from system import own_filter
from system.hidden_ground import PYTHON
from system.own_filter import LIKE_CODEX

__all__ = [
    "EVIL",
    "REASON",
    "WAYS",
    "alone",
    "decided",
    "made_home",
    "sandboxed",
    "started",
    "way_of",
    "words_of",
]

OWN = str(Path(own_filter.__file__))
REASON = "redlane: blocked: policy 'no-word' blocks this\n"
EVIL = "echo evil-$((1+1)) forbidden-word"

Way = Callable[[Path, str], list[str]]


def by_text(*words: str) -> Way:
    return lambda _, text: [*words, text]


def by_file(*words: str, first: str = "") -> Way:
    def made(place: Path, text: str) -> list[str]:
        script = place / "script.sh"
        script.write_text(f"{first}\n{text}\n")
        script.chmod(0o755)
        return [*words, "./script.sh"]

    return made


WAYS: dict[str, Way] = {
    "sh by its path": by_text("/bin/sh", "-c"),
    "bash by its path": by_text("/bin/bash", "-c"),
    "sh by PATH": by_text("sh", "-c"),
    "bash by PATH": by_text("bash", "-c"),
    "login": by_text("bash", "-lc"),
    "options": by_text("bash", "-e", "-o", "pipefail", "-c"),
    "BusyBox": by_text("busybox", "sh", "-c"),
    "sh FILE": by_file("sh"),
    "bash FILE": by_file("bash"),
    "first line": by_file(first="#!/bin/sh"),
    "first line with an option": by_file(first="#!/bin/bash -e"),
    "first line with env": by_file(first="#!/usr/bin/env bash"),
}


def made_home(base: Path) -> Home:
    made = Home(base)
    word = {"type": "Simple", "context": "Shell"}
    tea = {"type": "Regex", "pattern": "beer", "replacement": "tea"}
    calls = {"context": "Syscall", "syscall": ["unlink"], "pattern": "/nothing/here"}
    made.policies(
        {**word, "id": "no-word", "action": "Block", "pattern": "forbidden-word"},
        {**word, "id": "tea", "action": "Modify", "pattern": "beer", "transform": tea},
        {**word, "id": "ask", "action": "Flag", "pattern": "please-ask"},
        {**word, "id": "let", "action": "Allow", "pattern": "let-me"},
        {**word, "id": "no-file", "action": "Block", **calls},
    )
    made.role("plain", "no-word", "tea", "ask", "let")
    made.role("calls", "no-word", "tea", "ask", "let", "no-file")
    assert made.start("--role", "plain").code == 0
    return made


def words_of(rules: str, how: str, words: Sequence[str]) -> list[str]:
    return [PYTHON, "-I", "-B", OWN, rules, how, *words]


def sandboxed(
    home: Home,
    place: Path,
    *words: str,
    role: str = "plain",
    rules: str = LIKE_CODEX,
    how: str = "exec",
    stdin: str = "",
) -> Ran:
    command = ("run", "--role", role, "--", *words_of(rules, how, words))
    env = {"PATH": os.environ["PATH"]}
    return home.run(*command, env=env, stdin=stdin, cwd=place)


def alone(home: Home, place: Path, *words: str, stdin: str = "") -> Ran:
    """The same without Redlane."""
    first, *rest = words_of(LIKE_CODEX, "exec", words)
    return home.run(*rest, program=Path(first), stdin=stdin, cwd=place)


def decided(
    home: Home, place: Path, action: str, *words: str, meanwhile: str = "", **more: Any
) -> Ran:
    """What comes of it when each that is held of it is decided."""
    known: set[str] = set()
    with ThreadPoolExecutor(1) as side:
        running = side.submit(sandboxed, home, place, *words, **more)

        def held() -> list[str]:
            found = {each["id"] for each in home.control.rows("/api/reviews")}
            return sorted(found - known)

        while wait_for(lambda: held() or running.done()) and not running.done():
            subprocess.run(["sh", "-ec", meanwhile], cwd=place, check=True)
            for each in held():
                known.add(each)
                assert home.run("review", action, each).code == 0
        return running.result()


@contextmanager
def started(
    home: Home, place: Path, how: str, *words: str
) -> Iterator["subprocess.Popen[str]"]:
    """A running session under the filter of Codex; it is killed in the end."""
    command = words_of(LIKE_CODEX, how, words)
    with subprocess.Popen(
        [REDLANE, "run", "--role", "plain", "--", *command],
        env={**home.env, "PATH": os.environ["PATH"]},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=place,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def way_of(name: str, place: Path, text: str) -> list[str]:
    """The words that have a shell run a text, in one of WAYS; its file by its path."""
    if name == "BusyBox" and shutil.which("busybox") is None:
        pytest.skip("NOT TESTED: busybox is not installed")
    return WAYS[name](place, text)
