"""Command lines are split as a POSIX shell splits them, and nothing is expanded."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tiers import examples

from redlane.execution import CommandError, command_problems, split_command
from redlane.model.problem import Severity

SPLITS = {
    "words": ("grep -q x", ("grep", "-q", "x")),
    "blanks": ("  a\t b\n c ", ("a", "b", "c")),
    "single quotes": (r"a 'b \ " + "\" c'", ("a", 'b \\ " c')),
    "double quotes": ('a "b \\" \\\\ \\$ \\` \\n c"', ("a", r'b " \ $ ` \n c')),
    "escapes": (r"a\ b \'c \"", ("a b", "'c", '"')),
    "joined": ("""a'b'"c"\\d""", ("abcd",)),
    "empty words": ("""a '' "" b""", ("a", "", "", "b")),
    "a line that goes on": ('a\\\nb \\\n c "d\\\ne"', ("ab", "c", "de")),
    "nothing is expanded": (
        "a $HOME ~ * # {b,c}",
        ("a", "$HOME", "~", "*", "#", "{b,c}"),
    ),
    "operators are words": ("a | b && c > d", ("a", "|", "b", "&&", "c", ">", "d")),
    "line ends within quotes": ("a 'b\nc'", ("a", "b\nc")),
    "not ASCII": ("prüfe »x y« 'z\u2003z'", ("prüfe", "»x", "y«", "z\u2003z")),
    "only ASCII blanks separate": ("a\u00a0b c\rd", ("a\u00a0b", "c\rd")),
}


@pytest.mark.parametrize(("line", "words"), SPLITS.values(), ids=SPLITS)
def test_command_is_split_into_words(line: str, words: tuple[str, ...]) -> None:
    assert split_command(line) == words


BROKEN = {
    "empty": ("", "empty"),
    "blank": (" \t\n", "empty"),
    "an empty program": ("'' x", "empty"),
    "an open single quote": ("a 'b", "single quote"),
    "an open double quote": ('a "b', "double quote"),
    "an escaped closing quote": (r'a "b\"', "double quote"),
    "a backslash at the end": ("a \\", "backslash"),
    "NUL": ("a b\0c", "NUL"),
}


@pytest.mark.parametrize(("line", "named"), BROKEN.values(), ids=BROKEN)
def test_what_is_no_command_is_an_error(line: str, named: str) -> None:
    with pytest.raises(CommandError, match=named):
        split_command(line)
    (problem,) = command_problems(line)
    assert problem.severity is Severity.ERROR
    assert named in problem.message


PIECES = st.sampled_from(["a", "b c", " ", "\t", "'", '"', "\\", "é", "-", "\r"])


@given(line=st.lists(PIECES, max_size=12).map("".join))
@settings(max_examples=examples(300), deadline=None)
def test_words_are_those_of_a_real_shell(line: str) -> None:
    assume(not line.endswith("\\"))  # a shell keeps it, where we see a mistake
    shell = subprocess.run(
        ["/bin/sh", "-c", f"printf '%s\\0' x {line}"],
        capture_output=True,
        check=False,
        env={"LC_ALL": "C.UTF-8"},
    )
    if shell.returncode:
        with pytest.raises(CommandError, match="never closed"):
            split_command(f"x {line}")
    else:
        words = tuple(shell.stdout.decode().split("\0")[:-1])
        assert split_command(f"x {line}") == words


@given(words=st.lists(st.text(st.characters(exclude_characters="\0"))))
def test_quoted_words_come_back_whole(words: list[str]) -> None:
    quoted = ["'" + word.replace("'", "'\\''") + "'" for word in words]
    assert split_command(" ".join(["x", *quoted])) == ("x", *words)


@given(line=st.text())
def test_any_text_is_split_or_refused(line: str) -> None:
    severities = {problem.severity for problem in command_problems(line)}
    try:
        split_command(line)
    except CommandError:
        assert severities == {Severity.ERROR}
    else:
        assert Severity.ERROR not in severities


def warnings(line: str) -> str:
    problems = list(command_problems(line))
    assert all(each.severity is Severity.WARNING for each in problems)
    return " ".join(each.message for each in problems)


@pytest.mark.parametrize(
    "line",
    [
        "cat | grep x",
        "true;false",
        "sleep 1 &",
        "true && false",
        "cat <x",
        "cat >x",
        "echo `id`",
        "echo $(id)",
        "true\nfalse",
    ],
)
def test_what_only_a_shell_would_do_is_a_warning(line: str) -> None:
    assert "without a shell" in warnings(line)


@pytest.mark.parametrize(
    "line",
    [
        "grep -q 'a|b;c&d<e>f`g$(h'",
        'grep -q "a|b"',
        r"grep -q a\|b\&c\;d\<e\>f\`g\$\(h",
        "echo $HOME $ ( )",
        "\n true \n",
        "sh -c 'cat | grep x'",
    ],
)
def test_quoted_operators_are_none(line: str) -> None:
    assert warnings(line) == ""


def test_missing_program_is_a_warning_that_says_where_it_was_looked_for() -> None:
    assert "'no-such-program'" in warnings("no-such-program -x")
    assert "/usr/bin" in warnings("no-such-program -x")
    assert "whole path" in warnings("./check.sh")
    assert warnings("/bin/true") == ""
    assert warnings("bin/true") == ""  # programs run in /


def test_directory_or_unexecutable_file_is_no_program(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("#!/bin/sh\n")
    assert "no program" in warnings(str(tmp_path / "plain"))
    assert "no program" in warnings(str(tmp_path))
