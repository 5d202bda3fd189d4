"""rename, renameat and renameat2 in the caller's place are what they are natively."""

import os
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from pathlib import Path

import pytest
from syscall_harness import NOBODY, Decisions, Kit, forked, supervised
from syscall_trees import (
    AT_FDCWD,
    SHARES,
    Case,
    difference,
    open_directory,
    raw,
    run_cases,
)

from redlane_context_syscall.calls import Handler
from redlane_context_syscall.protecting import Protection
from redlane_context_syscall.renaming import Renaming

CALLS = ("rename", "renameat", "renameat2")
_NOREPLACE, _EXCHANGE, _WHITEOUT = 1, 2, 4

NAMES = (
    *("file", "hard", "to-file", "to-nothing", "fifo", "empty", "full", "nothing"),
    *("full/below", "full/up/new", "sealed/file"),
)
ODD_NAMES = (
    *("file/", "empty/", "full//", "to-full/", "nothing/", "fifo/", "loop/x"),
    *(".", "..", "empty/.", "full/..", "/", "", "x" * 256, "x" * 4096, "nothing/x"),
    *("file/x", "to-full/file", "/proc/self/cwd/file", "/proc/version", None),
    *("/dev/null", "/proc/x"),
)


@pytest.fixture
def directory() -> Iterator[Path]:
    with open_directory() as path:
        yield path


def _handlers(
    refuses: Callable[[str, tuple[bytes | None, ...]], bool] | None = None,
    named: Mapping[str, bool] | None = None,
) -> Callable[[Kit], Mapping[str, Handler]]:
    def make(kit: Kit) -> Mapping[str, Handler]:
        decisions = Decisions(refuses)
        kit.log.extend([decisions.asked, decisions.unfaithful])
        protection = Protection(decisions, lambda: named or {}, most_entries=2_000)
        parts = (kit.listener, kit.world, decisions, protection)
        return Renaming(*parts, blocking=kit.blocking).handlers()

    return make


def _short(name: object) -> str:
    text = str(name)
    return text if len(text) < 30 else f"{text[:8]}({len(text)})"


def _cases() -> tuple[Case, ...]:
    pairs: list[tuple[str | None, str | None]] = [*product(NAMES, NAMES)]
    pairs += [*product(ODD_NAMES, ("file", "empty", "new"))]
    pairs += [*product(("file", "full", "nothing"), ODD_NAMES)]
    cases = []
    for old, new in pairs:
        label = f"{_short(old)} -> {_short(new)}"
        cases.append(Case(f"rename {label}", "rename", (old, new)))
        for flags in (_NOREPLACE, _EXCHANGE):
            arguments = (AT_FDCWD, old, AT_FDCWD, new, flags)
            cases.append(Case(f"renameat2 {flags} {label}", "renameat2", arguments))
    return (*cases, *_cases_of_directories(), *_cases_of_flags())


def _cases_of_directories() -> Iterator[Case]:
    directories = {
        "cwd": lambda: AT_FDCWD,
        "full": lambda: os.open("full", os.O_PATH),
        "other": lambda: os.open("other", os.O_RDONLY),
        "file": lambda: os.open("file", os.O_RDONLY),
        "closed": lambda: 987,
    }
    for (old, opens), (new, opens_too) in product(directories.items(), repeat=2):
        for path in ("file", "../second", "/proc/version", "nothing"):
            arguments = (opens, path, opens_too, "new")
            yield Case(f"at {old}: {path} -> {new}", "renameat", arguments)


def _cases_of_flags() -> Iterator[Case]:
    for flags in (3, 6, 5, _WHITEOUT, 8, 1 << 31, 1 << 32, (1 << 32) | _EXCHANGE):
        for new in ("second", "nothing", None):
            arguments = (AT_FDCWD, "file", AT_FDCWD, new, flags)
            yield Case(f"flags {flags} {new}", "renameat2", arguments)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("user", [None, NOBODY], ids=["as it is", "as nobody"])
def test_renames_do_what_they_do_natively(
    directory: Path, user: int | None, share: int
) -> None:
    if user is not None and os.geteuid() != 0:
        pytest.skip("only root can be somebody else")
    cases = _cases()[::share]

    def act() -> object:
        return run_cases(directory, cases)

    native = forked(act, user=user)
    emulated = supervised(act, CALLS, _handlers(), user=user)

    assert difference(native, emulated.result) == []
    asked, unfaithful = emulated.log
    assert not unfaithful
    assert len(asked) >= len(cases)


def _renamed(*arguments: object) -> str:
    """What a rename comes to."""
    try:
        raw("renameat2", *arguments)
    except OSError as error:
        return os.strerror(error.errno or 0)
    return "done"


def _attempts(directory: Path) -> list[str]:
    """Each rename of the protection table, from a tree that holds something to keep."""
    results = []
    for number, (old, new, flags) in enumerate(ATTEMPTS.values()):
        tree = directory / str(number)
        (tree / "kept/deep/secrets").mkdir(parents=True)
        (tree / "kept/deep/secrets/key").write_text("secret")
        (tree / "dir/secrets").mkdir(parents=True)
        (tree / "plain").mkdir()
        (tree / "plain/file").write_text("file")
        (tree / "bundle").mkdir()
        (tree / "bundle/key").write_text("other")
        os.chdir(tree)
        results.append(_renamed(AT_FDCWD, old, AT_FDCWD, new, flags))
        os.chdir("/")
    return results


REFUSED, DONE = os.strerror(1), "done"
ATTEMPTS = {
    "a file that may not be opened": ("kept/deep/secrets/key", "x", 0),
    "its directory": ("kept/deep/secrets", "x", 0),
    "a directory above": ("kept", "x", 0),
    "a directory above, with a slash": ("kept/", "x", 0),
    "exchanged": ("kept", "plain", _EXCHANGE),
    "exchanged the other way": ("plain", "kept", _EXCHANGE),
    "into its place": ("plain/file", "kept/deep/secrets/key", 0),
    "to where it would be": ("plain/file", "dir/secrets/key", 0),
    "a directory to where it would be": ("bundle", "plain/secrets", 0),
    "something else": ("plain/file", "dir/file", 0),
    "a directory of something else": ("plain", "elsewhere", 0),
    "to another name in such a directory": ("plain/file", "dir/secrets/x", 0),
}


def _keeps_secrets(name: str, candidates: tuple[bytes | None, ...]) -> bool:
    """A policy on openat whose pattern is `secrets/key`."""
    return name == "openat" and any(
        each is None or b"secrets/key" in each for each in candidates
    )


def test_what_may_not_be_opened_may_not_be_moved_either(directory: Path) -> None:
    outcome = supervised(
        lambda: _attempts(directory),
        CALLS,
        _handlers(_keeps_secrets, {"openat": True}),
    )

    results = dict(zip(ATTEMPTS, outcome.result, strict=True))
    free = [*ATTEMPTS][-3:]
    assert results == {each: DONE if each in free else REFUSED for each in ATTEMPTS}
    assert set(outcome.log[1]) == {
        "policies refuse openat on a path that this would change"
    }


def _blocks_removal(name: str, candidates: tuple[bytes | None, ...]) -> bool:
    return name == "unlink" and any(
        each is None or each.endswith(b"/kept") for each in candidates
    )


@pytest.mark.parametrize(
    ("old", "new", "result"),
    [
        pytest.param("kept", "x", REFUSED, id="taken away"),
        pytest.param("other", "kept", REFUSED, id="overwritten"),
        pytest.param("below/..", "x", os.strerror(16), id="no entry"),
        pytest.param("other", "below/kept", DONE, id="not there yet"),
        pytest.param("below", "x", DONE, id="nothing below"),
    ],
)
def test_what_may_not_be_removed_may_not_be_moved_away(
    directory: Path, old: str, new: str, result: str
) -> None:
    def act() -> str:
        os.chdir(directory)
        Path("below").mkdir()
        for each in ("kept", "other"):
            Path(each).write_text(each)
        return _renamed(AT_FDCWD, old, AT_FDCWD, new, 0)

    named = {"unlink": True}
    outcome = supervised(act, CALLS, _handlers(_blocks_removal, named))

    assert outcome.result == result


def test_a_directory_too_large_to_be_looked_through_stays(directory: Path) -> None:
    def act() -> str:
        os.chdir(directory)
        Path("large").mkdir()
        for each in range(2_001):
            Path(f"large/{each}").symlink_to("x")
        return _renamed(AT_FDCWD, "large", AT_FDCWD, "x", 0)

    outcome = supervised(act, CALLS, _handlers(_keeps_secrets, {"openat": True}))

    assert outcome.result == REFUSED
    assert outcome.log[1] == ["too much lies below to be looked through"]


def test_paths_of_which_each_is_allowed_may_all_move(directory: Path) -> None:
    """An Allow that has to match every path does not match those of two directories."""

    def act() -> str:
        os.chdir(directory)
        for each in ("some/one", "some/two"):
            Path(each).mkdir(parents=True)
        return _renamed(AT_FDCWD, "some", AT_FDCWD, "x", 0)

    def refuses(_name: str, candidates: tuple[bytes | None, ...]) -> bool:
        endings = {each.rpartition(b"/")[2] for each in candidates if each}
        return len(endings & {b"one", b"two"}) > 1

    outcome = supervised(act, CALLS, _handlers(refuses, {"openat": True}))

    assert outcome.result == DONE


def test_without_path_filters_nothing_is_looked_through(directory: Path) -> None:
    def act() -> str:
        os.chdir(directory)
        Path("large").mkdir()
        return _renamed(AT_FDCWD, "large", AT_FDCWD, "x", 0)

    everything = {"openat": False, "unlink": False}
    outcome = supervised(act, CALLS, _handlers(lambda *_: False, everything))

    assert outcome.result == DONE
    assert outcome.log[0] == [
        (
            "renameat2",
            (
                b"large",
                b"x",
                os.fsencode(directory / "large"),
                os.fsencode(directory / "x"),
            ),
        )
    ]


def _cycle(directory: Path) -> object:
    """Renames within a directory that another user's sticky bit governs."""
    os.chdir(directory)
    return _renamed(AT_FDCWD, "theirs", AT_FDCWD, "mine", 0)


def test_a_name_in_a_sticky_directory_is_its_owners(directory: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can be somebody else")
    directory.chmod(0o1777)
    (directory / "theirs").write_text("")

    native = forked(lambda: _cycle(directory), user=NOBODY)
    emulated = supervised(lambda: _cycle(directory), CALLS, _handlers(), user=NOBODY)

    assert native == emulated.result == REFUSED
