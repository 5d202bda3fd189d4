"""A long script is walked once, whatever a program that runs it gives it."""

from pathlib import Path

import pytest

from redlane.contexts.shell.content import ShellContent
from redlane.model.content import Reader
from redlane.model.policy import Action

DANGER = "rm -rf x"
FILLING = "echo one two three\n" * 1_000
"""Makes a script long, and is not too much to be followed."""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "long.sh").write_text(f'{FILLING}. ./lib.sh\n"$@"\n')
    (tmp_path / "lib.sh").write_text("echo lib\n")
    return tmp_path


def content(place: Path, command: str, *, handed_on: bool = False) -> ShellContent:
    return ShellContent(
        command.encode(), cwd=str(place), is_handed_on=lambda: handed_on
    )


def sees(found: ShellContent, command: str = DANGER) -> bool:
    return command.encode() in found.views(Action.BLOCK, Reader.PATTERN)


def walks_once(one: ShellContent, other: ShellContent) -> bool:
    words = ["one", "two", "three"]
    found = [
        next(each.words for each in content.commands if [*each.words[1:]] == words)
        for content in (one, other)
    ]
    return found[0] is found[1]


WAYS = {
    "by another shell": ("sh long.sh a", "bash long.sh a", False),
    "behind another command": ("sh long.sh a", "echo b; sh long.sh a", False),
    "by its path": ("sh ./long.sh", "chmod +x long.sh; ./long.sh", False),
    "with other arguments of a program": ("sh long.sh a", "sh long.sh b", True),
    "with other variables of a program": ("a=1; sh long.sh", "a=2; sh long.sh", True),
}


@pytest.mark.parametrize(("one", "other", "handed_on"), WAYS.values(), ids=WAYS)
def test_long_script_is_walked_once(
    place: Path, one: str, other: str, *, handed_on: bool
) -> None:
    found = [content(place, each, handed_on=handed_on) for each in (one, other)]
    assert walks_once(*found)
    assert found[0].unknown_words == found[1].unknown_words


def test_arguments_count_of_what_is_typed(place: Path) -> None:
    assert not sees(content(place, "sh long.sh ls"))
    assert sees(content(place, f"sh long.sh {DANGER}"))


def test_what_was_handed_on_is_typed_the_next_time(place: Path) -> None:
    command = f"sh long.sh {DANGER}"
    assert not sees(content(place, command, handed_on=True))
    assert sees(content(place, command))


def test_arguments_that_a_program_hands_on_are_not_known(place: Path) -> None:
    found = content(place, f"sh long.sh {DANGER}", handed_on=True)
    assert not sees(found)
    assert found.is_open
    assert found.unknown_words


OPENED = {
    "an argument": ("sh long.sh .ssh/key", {"< .ssh/key", "> .ssh/key"}),
    "a value": ("f=../.bashrc sh long.sh", {"< ../.bashrc", "> ../.bashrc"}),
    "behind a sign": ("sh long.sh f=a.txt", {"< f=a.txt", "< a.txt", "> a.txt"}),
    "behind an option": ("sh long.sh -I../key --to=out", {"< ../key", "> out"}),
    "a full name behind an option": ("sh long.sh -I/etc/key", {"< /etc/key"}),
}


@pytest.mark.parametrize(("command", "shown"), OPENED.values(), ids=OPENED)
def test_what_a_program_hands_on_may_be_opened_by_the_shell(
    place: Path, command: str, shown: set[str]
) -> None:
    found = content(place, command, handed_on=True)
    assert all(sees(found, each) for each in shown)
    assert not sees(found, "> /etc/key")


FULL = {
    "an argument": ("sh long.sh rm -rf /x", "rm -rf /x"),
    "at home": ("sh long.sh rm -rf ~", "rm -rf ~"),
    "beside a value": ("a=/x sh long.sh rm b", "rm b"),
}


@pytest.mark.parametrize(("command", "seen"), FULL.values(), ids=FULL)
def test_full_names_count_whoever_hands_them_on(
    place: Path, command: str, seen: str
) -> None:
    assert sees(content(place, command, handed_on=True), seen)


@pytest.mark.parametrize("command", ["a=1; sh long.sh", "f() { ls; }; sh long.sh"])
def test_long_script_counts_behind_what_is_known(place: Path, command: str) -> None:
    (place / "long.sh").write_text(f"{FILLING}{DANGER}\n")
    assert sees(content(place, "sh long.sh"))
    assert sees(content(place, command))


def test_change_of_what_a_long_script_runs_is_seen(place: Path) -> None:
    assert not sees(content(place, "sh long.sh a", handed_on=True))
    (place / "lib.sh").write_text(DANGER)
    assert sees(content(place, "sh long.sh b", handed_on=True))


@pytest.mark.parametrize("command", ["sh long.sh; sh out.sh", "sh long.sh; . ./out.sh"])
def test_what_a_long_script_writes_is_known_each_time(
    place: Path, command: str
) -> None:
    (place / "long.sh").write_text(f"{FILLING}echo {DANGER} > out.sh\n")
    assert all(sees(content(place, f"{command}{end}")) for end in ("", "; :"))


def test_script_that_was_run_is_run_again_with_what_was_written_since(
    place: Path,
) -> None:
    (place / "long.sh").write_text(f"{FILLING}sh out.sh\n")
    command = f"sh long.sh; echo {DANGER} > out.sh; sh long.sh"
    assert sees(content(place, command))


def test_long_scripts_that_run_each_other_are_all_seen(place: Path) -> None:
    names = [f"s{number}.sh" for number in range(4)]
    calls = "".join(f"sh {name}\n" for name in names)
    for name in names:
        (place / name).write_text(f"{FILLING}{calls}echo {name}\n")
    found = content(place, calls)
    assert all(sees(found, f"echo {name}") for name in names)


def test_long_script_that_cannot_be_judged_never_can(place: Path) -> None:
    nested = f"{'echo $(' * 20}{')' * 20}\n"
    (place / "long.sh").write_text(f"{FILLING}{nested}")
    for each in (content(place, "sh long.sh"), content(place, "sh long.sh; :")):
        assert each.problem
