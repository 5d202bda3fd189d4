"""The shell reader takes anything, in linear time, and sees what a real shell runs."""

import os
import random
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from fuzz.shell_grammar import script
from fuzz.shell_lines import line
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tiers import examples

from redlane.contexts.shell.content import ShellContent
from redlane.contexts.shell.grammar.expansions import TooComplex
from redlane.contexts.shell.grammar.reader import CommandReader, read
from redlane.contexts.shell.grammar.syntax import Pipeline, Simple
from redlane.model.content import Reader
from redlane.model.policy import Action

WRITTEN = r"""
$( ) ` ( ) { } ' " \ ; & | && || < > << <<- <<< >( <( # ! = ~ * ? [ ] [[ ]] (( ))
$(( $[ ${ ${x:- } $' $" $x $@ if then fi for i in do done while case esac ;; function
f() coproc time eval sh -c sudo echo rm -rf E 'E' a {a,b} {1..9} x= x=( x+= 2>&1 1> &>
base64 -d xargs find . -exec \; git -c alias.a=! trap EXIT cd ./a
"""
PIECES = WRITTEN.split()
PIECES += ["\n", "\t", " ", "\\\n", "\0", "\r\n", "\u200b", "\uff52", "\xe9"]


def patterns(content: ShellContent) -> list[str]:
    return [view.decode() for view in content.views(Action.BLOCK, Reader.PATTERN)]


@given(st.binary(max_size=300), st.lists(st.binary(max_size=20), max_size=3))
@settings(max_examples=examples(300), deadline=None)
@example(b"$($($((`\\`<<$('", [])
def test_any_bytes_can_be_read(data: bytes, arguments: list[bytes]) -> None:
    content = ShellContent(data, tuple(arguments), "/nowhere")
    assert patterns(content)[0] == data.decode(errors="replace")
    assert content.problem is None or content.problem


@given(st.lists(st.sampled_from(PIECES), max_size=40), st.sampled_from(["", " "]))
@settings(max_examples=examples(600), deadline=None)
def test_any_pieces_of_shell_can_be_read(pieces: list[str], between: str) -> None:
    content = ShellContent(between.join(pieces).encode(), cwd="/nowhere")
    assert patterns(content)
    assert len(content.views(Action.BLOCK, Reader.CHECKER)) <= len(patterns(content))


def commands_of(pipelines: list[Pipeline]) -> set[str]:
    """Each simple command, and what each compound one has besides its body."""
    found: set[str] = set()
    waiting = list(pipelines)
    while waiting:
        for stage in waiting.pop().stages:
            if isinstance(stage, Simple):
                found.add(repr(stage))
            else:
                found.add(f"{stage.opener} {stage.function} {stage.values}")
                waiting += stage.body
    return found


@given(st.integers(0, 10**9), st.integers(1, 5))
@settings(max_examples=examples(300), deadline=None)
def test_dialects_are_read_as_if_each_were_read_whole(seed: int, texts: int) -> None:
    """Only the stretches that they read otherwise are read twice."""
    chance = random.Random(seed)
    text = "\n".join(script(chance, braces=False) for _ in range(texts))
    try:
        both = [CommandReader(text, posix=posix).commands() for posix in (False, True)]
    except TooComplex:
        return
    assert commands_of(read(text)) == commands_of(both[0] + both[1])


@pytest.mark.parametrize("piece", [*PIECES, "a;", "a|", "a&&", "f(){ f;};", "a=$a$a;"])
def test_time_grows_with_length_and_no_faster(piece: str) -> None:
    def seconds(size: int) -> float:
        data = (piece + " ").encode() * (size // (len(piece) + 1))
        start = time.thread_time()
        patterns(ShellContent(data, cwd="/nowhere"))
        return time.thread_time() - start

    # The least of some: a busy machine only adds to what it takes.
    short = min(seconds(2_000) for _ in range(3))
    assert min(seconds(16_000) for _ in range(3)) < max(40 * short, 0.5)


def quoted(draw: st.DrawFn, text: str) -> str:
    """One spelling of a word."""
    spelled = ""
    for letter in text:
        spelled += draw(
            st.sampled_from(
                [
                    letter,
                    f"'{letter}'",
                    f'"{letter}"',
                    f"\\{letter}",
                    f"$'\\x{ord(letter):02x}'",
                    f"$'\\{ord(letter):03o}'",
                    f"''{letter}",
                    f"$(printf {letter})",
                    f"`echo {letter}`",
                    f"${{nothing:-{letter}}}",
                    f"\\\n{letter}",
                    f"$(true){letter}",
                ]
            )
        )
    return spelled


PREFIXES = ["{}", "sudo {}", "env A=b {}", "timeout 5 {}", "nohup nice {}"]
"""What may stand before a simple command, but not before a compound one."""

COMPOUNDS = [
    "( {} )",
    "{{ {}; }}",
    "ls; {}",
    "ls && {}",
    "! {}",
    'echo "$( {} )"',
    "if ls; then {}; fi",
    "for i in 1; do {}; done",
    "while ls; do {}; done",
    "case a in a) {};; esac",
    "f() {{ {}; }}; f",
    "bash <<'E'\n{}\nE",
    "cat <<E\n$( {} )\nE",
    "eval \"$(cat <<'E'\n{}\nE\n)\"",
]


@st.composite
def spellings(draw: st.DrawFn) -> str:
    """A spelling of `danger -f target`, wrapped and placed anyhow."""
    blank = draw(st.sampled_from([" ", "\t", "  ", " \\\n", "${IFS}"]))
    words = [quoted(draw, word) for word in ("danger", "-f", "target")]
    text = blank.join(words)
    text = draw(st.sampled_from(PREFIXES)).format(text)
    for _ in range(draw(st.integers(0, 2))):
        text = draw(st.sampled_from(COMPOUNDS)).format(text)
    return text


@given(spellings())
@settings(max_examples=examples(300), deadline=None)
def test_every_spelling_shows_the_same_command(text: str) -> None:
    content = ShellContent(text.encode())
    assert content.problem is None
    assert "danger -f target" in patterns(content)


class Shell:
    """A real shell whose commands only write down how they were called."""

    def __init__(self, shell: str, home: Path) -> None:
        self.path = shell
        self.home = home
        self.bin = home / "bin"
        self.bin.mkdir()
        for name in ("c1", "c2", "c3", "c4"):
            stub = self.bin / name
            stub.write_text(
                f'#!/bin/sh\ns={name}\nfor a; do s="$s $a"; done\n'
                'printf "%s\\0" "$s" >> "$LOG"\n'
            )
            stub.chmod(0o755)
        for name in ("cat", "sh", "bash"):
            (self.bin / name).symlink_to(str(shutil.which(name)))

    def runs(self, text: str, number: int) -> list[str]:
        """What the shell ran of `text`."""
        log = self.home / f"log{number}"
        place = self.home / f"place{number}"
        place.mkdir()
        try:
            subprocess.run(
                [self.path, "-c", text],
                cwd=place,
                env={"PATH": str(self.bin), "HOME": "~", "LOG": str(log)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=5,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return []
        data = log.read_bytes() if log.exists() else b""
        return [each.decode(errors="replace") for each in data.split(b"\0")[:-1]]


@pytest.fixture(params=["bash", "dash"])
def shell(request: pytest.FixtureRequest, tmp_path: Path) -> Shell:
    found = shutil.which(request.param)
    if found is None:
        pytest.skip(f"there is no {request.param}")
    return Shell(found, tmp_path)


def squeezed(text: str) -> str:
    return " ".join(text.split())


def shows(seen: list[str], ran: str) -> bool:
    """Whether a view is what was run, up to where the text leaves it open."""
    ran = squeezed(ran)
    for view in seen:
        known, *rest = re.split(r"[$`]|[<>]\(", view, maxsplit=1)
        known = squeezed(known)
        if known == ran or (rest and known and ran.startswith(known)):
            return True
    return not ran


SCRIPTS = int(os.environ.get("REDLANE_FUZZ_SCRIPTS", "120"))


@pytest.mark.parametrize("seed", range(3))
def test_what_a_real_shell_runs_is_seen(shell: Shell, seed: int) -> None:
    chance = random.Random(seed)
    for number in range(SCRIPTS):
        text = script(chance, braces="bash" in shell.path)
        content = ShellContent(text.encode(), cwd="/nowhere")
        if content.problem is None:
            seen = patterns(content)
            for ran in shell.runs(text, number):
                assert shows(seen, ran), (text, ran)


@pytest.mark.parametrize("seed", range(6))
def test_what_bash_runs_of_its_own_language_is_seen(tmp_path: Path, seed: int) -> None:
    bash = shutil.which("bash")
    assert bash is not None
    shell, chance = Shell(bash, tmp_path), random.Random(seed)
    for number in range(SCRIPTS):
        text = line(chance)
        content = ShellContent(text.encode(), cwd="/nowhere")
        if content.problem is None:
            seen = patterns(content)
            for ran in shell.runs(text, number):
                assert shows(seen, ran) or content.is_open, (text, ran)
