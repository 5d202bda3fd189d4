"""Scripts on disk are judged as the command strings that they are."""

import os
from pathlib import Path

import pytest
from core.shell_views import views

from redlane.contexts.shell.content import ShellContent
from redlane.contexts.shell.expansion.disk import OwnDisk
from redlane.contexts.shell.expansion.scripts import MOST_SCRIPT_BYTES
from redlane.model.content import Reader
from redlane.model.policy import Action

DANGER = "rm -rf x"
RUNS = {
    "shell": "bash s.sh",
    "shell by path": "bash ./s.sh a b",
    "shell with options": "sh -eu s.sh",
    "path": "./s.sh",
    "source": "source s.sh",
    "dot": ". ./s.sh",
    "after cd": "cd sub && ../s.sh",
    "in a directory": "cd sub; sh t.sh",
    "wrapped": "sudo nohup bash s.sh &",
    "input": "sh < s.sh",
    "through cat": "cat s.sh | sh",
    "evaluated": 'eval "$(cat s.sh)"',
    "BASH_ENV": "BASH_ENV=s.sh bash -c ls",
    "by another script": "bash outer.sh",
    "link": "./link.sh",
    "find": r"find . -exec bash s.sh \;",
}


@pytest.fixture
def scripts(tmp_path: Path) -> str:
    script = tmp_path / "s.sh"
    script.write_text(f"#!/bin/sh\n# it's a script\n{DANGER}\n")
    script.chmod(0o755)
    (tmp_path / "link.sh").symlink_to(script)
    (tmp_path / "outer.sh").write_text("bash inner.sh\n")
    (tmp_path / "inner.sh").write_text("./s.sh\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/t.sh").write_text(DANGER)
    return str(tmp_path)


@pytest.mark.parametrize("text", RUNS.values(), ids=RUNS.keys())
def test_script_is_read(text: str, scripts: str) -> None:
    assert DANGER in views(text, cwd=scripts)


def test_script_by_absolute_path_needs_no_working_directory(scripts: str) -> None:
    assert DANGER in views(f"bash {scripts}/s.sh")


STARTED = {
    "a shell's": ("#!/bin/sh", "sh ./tool publish"),
    "with an option": ("#!/bin/bash -e", "/bin/bash -e ./tool publish"),
    "found in PATH": ("#!/usr/bin/env node", "node ./tool publish"),
    "as the kernel starts it": (
        "#!/usr/bin/env node",
        "/usr/bin/env node ./tool publish",
    ),
    "with options of env": (
        "#!/usr/bin/env -S python3 -u",
        "python3 -u ./tool publish",
    ),
    "no path": ("#!/usr/bin/python3", "/usr/bin/python3 tool publish"),
}


@pytest.mark.parametrize(("line", "command"), STARTED.values(), ids=STARTED)
def test_script_is_what_its_name_says_behind_its_interpreter(
    tmp_path: Path, line: str, command: str
) -> None:
    (tmp_path / "tool").write_text(f"{line}\n")
    assert "tool publish" in views(command, cwd=str(tmp_path))


@pytest.mark.parametrize(
    "command", ["python3 ./tool publish", "cat ./tool publish", "sh -c ./tool publish"]
)
def test_file_that_another_program_is_given_is_not_started(
    tmp_path: Path, command: str
) -> None:
    (tmp_path / "tool").write_text("#!/bin/sh\n")
    assert "tool publish" not in views(command, cwd=str(tmp_path))


def test_fifo_behind_an_interpreter_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    watched: list[str] = []

    class Watched(OwnDisk):
        def open(self, path: str) -> int | None:
            watched.append(path)
            return super().open(path)

    content = ShellContent(b"python3 fifo", cwd=str(tmp_path), disk=Watched())
    content.views(Action.BLOCK, Reader.PATTERN)
    assert not watched


def test_script_gets_its_parameters(tmp_path: Path) -> None:
    (tmp_path / "s.sh").write_text('"$@"')
    assert DANGER in views(f"bash s.sh {DANGER}", cwd=str(tmp_path))


@pytest.mark.parametrize(
    ("first_line", "count"),
    [
        ("", 1),
        ("#!/bin/bash -e", 1),
        ("#!/usr/bin/env bash", 1),
        ("#!/usr/bin/env -S bash -e", 1),
        ("#!/usr/bin/python3", 0),
        ("#!/usr/bin/env node", 0),
    ],
)
def test_interpreter_decides_whether_a_path_is_a_shell_script(
    tmp_path: Path, first_line: str, count: int
) -> None:
    (tmp_path / "s").write_text(f"{first_line}\n{DANGER}\n")
    assert views("./s", cwd=str(tmp_path)).count(DANGER) == count


def test_interpreter_line_is_a_command_itself(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("#!/bin/rm -rf\n")
    assert "rm -rf ./s x" in views("./s x", cwd=str(tmp_path))


def test_script_that_runs_itself_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "s.sh").write_text(f'bash "$0"; ./s.sh; source s.sh; {DANGER}')
    assert DANGER in views("bash s.sh", cwd=str(tmp_path))


def test_script_written_by_the_command_counts_before_it_is_there(
    tmp_path: Path,
) -> None:
    text = "mkdir -p d && printf 'rm -rf %s' x > d/s.sh && bash d/s.sh"
    assert DANGER in views(text, cwd=str(tmp_path))


@pytest.mark.parametrize("name", ["missing", "directory", "program", "secret"])
def test_what_is_no_readable_script_is_nothing(tmp_path: Path, name: str) -> None:
    (tmp_path / "directory").mkdir()
    (tmp_path / "program").write_bytes(b"\x7fELF\nrm -rf x\n")
    (tmp_path / "secret").write_text("ls")
    (tmp_path / "secret").chmod(0)
    assert DANGER not in views(f"bash {name}; ./{name}", cwd=str(tmp_path))


@pytest.mark.parametrize("place", [0, 6, 9], ids=["first line", "before", "after"])
def test_nul_bytes_hide_nothing_of_a_script(tmp_path: Path, place: int) -> None:
    """bash refuses them in the first line only, and dash nowhere."""
    text = f"echo hi\n\n{DANGER}\n"
    (tmp_path / "s.sh").write_text(f"{text[:place]}\0{text[place:]}")
    assert DANGER in views("bash s.sh", cwd=str(tmp_path))


@pytest.mark.parametrize("command", ["bash < s.sh", "cat s.sh | bash", "bash s.sh"])
def test_nul_bytes_hide_no_word_of_a_script(tmp_path: Path, command: str) -> None:
    text = f"echo hi\n{DANGER[:1]}\0{DANGER[1:]}\n"
    (tmp_path / "s.sh").write_text(text)
    assert DANGER in views(command, cwd=str(tmp_path))


@pytest.mark.parametrize("command", ["bash fifo", "./fifo", ". ./fifo", "sh < fifo"])
def test_what_comes_out_of_a_pipe_is_not_known(tmp_path: Path, command: str) -> None:
    os.mkfifo(tmp_path / "fifo")
    content = ShellContent(command.encode(), cwd=str(tmp_path))
    assert content.problem is not None
    assert "fifo" in content.problem


@pytest.mark.parametrize("path", ["/dev/null", "/dev/stdin", "/dev/fd/0"])
def test_devices_that_hold_nothing_of_their_own_are_no_problem(path: str) -> None:
    assert ShellContent(f"bash {path}".encode(), cwd="/").problem is None


def test_script_too_long_to_be_judged_is_a_problem(tmp_path: Path) -> None:
    with (tmp_path / "s.sh").open("wb") as file:
        file.truncate(MOST_SCRIPT_BYTES + 1)
    content = ShellContent(b"bash s.sh", cwd=str(tmp_path))
    assert content.problem is not None
    assert "s.sh" in content.problem


def test_long_script_with_many_meanings_can_still_be_judged(tmp_path: Path) -> None:
    loops = "\n".join(f"for a{place} in 1 2 3 4 5 6 7 8 9; do" for place in range(6))
    line = "echo " + " ".join(f"$a{place}" for place in range(6))
    (tmp_path / "s.sh").write_text(f"{loops}\n{line}\n" + "done\n" * 6 + DANGER)
    assert DANGER in views("bash s.sh", cwd=str(tmp_path))


LOADS = {
    "in a script": ("sh s.sh", False),
    "in what a script sources": ("sh outer.sh", False),
    "typed": ("enable -f ./x.so realpath", True),
    "sourced": (". ./s.sh", True),
    "at the start of a shell": ("bash --rcfile s.sh -i", True),
    "at the start of a shell in a script": ("sh starts.sh", True),
}


@pytest.mark.parametrize(("text", "is_shown"), LOADS.values(), ids=LOADS)
def test_builtin_that_a_script_loads_is_a_program(
    tmp_path: Path, text: str, *, is_shown: bool
) -> None:
    (tmp_path / "s.sh").write_text("set -e\nenable -f ./x.so realpath 2>/dev/null\n")
    (tmp_path / "outer.sh").write_text(". ./s.sh\n")
    (tmp_path / "starts.sh").write_text("bash --init-file ./s.sh -i\n")
    content = ShellContent(text.encode(), cwd=str(tmp_path))
    seen = content.views(Action.BLOCK, Reader.PATTERN)
    assert (b"enable -f ./x.so realpath" in seen) == is_shown
    assert (b"./x.so realpath" in seen) != is_shown
    assert is_shown or content.unknown_words
