"""link and linkat in the caller's place are what they are natively."""

import os
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from pathlib import Path

import pytest
from syscall_harness import NOBODY, Decisions, Kit, forked, supervised
from syscall_trees import AT_FDCWD, Case, difference, open_directory, raw, run_cases

from redlane_context_syscall.calls import Handler
from redlane_context_syscall.linking import Linking
from redlane_context_syscall.protecting import Protection

CALLS = ("link", "linkat")
_FOLLOW, _EMPTY = 0x400, 0x1000

FILES = (
    *("file", "to-file", "to-nothing", "loop", "fifo", "empty", "full/file"),
    *("nothing", "sealed/file", "file/", "to-file/", ".", "", "/", "file/x", None),
    *("/proc/self/cwd/file", "/dev/null", "/proc/version", "x" * 256, "x" * 4096),
)
LINKS = (
    *("new", "second", "to-file", "to-nothing", "full/new", "sealed/new", "new/"),
    *("nothing/new", "file/new", "loop/new", ".", "empty/..", "/", "", None),
    *("x" * 256, "/proc/new", "/dev/shm/redlane-new", "/proc/self/cwd/new"),
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
        protection = Protection(decisions, lambda: named or {})
        parts = (kit.listener, kit.world, decisions, protection)
        return Linking(*parts, blocking=kit.blocking).handlers()

    return make


def _cases() -> Iterator[Case]:
    pairs = [*product(FILES, ("new", "file")), *product(("file", "to-file"), LINKS)]
    for old, new in pairs:
        label = f"{str(old)[:30]} -> {str(new)[:30]}"
        yield Case(f"link {label}", "link", (old, new))
        for flags in (0, _FOLLOW):
            arguments = (AT_FDCWD, old, AT_FDCWD, new, flags)
            yield Case(f"linkat {flags} {label}", "linkat", arguments)
    yield from _cases_of_directories()
    for flags in (1, 0x100, _FOLLOW | 1, 1 << 32, 1 << 31):
        arguments = (AT_FDCWD, "file", AT_FDCWD, "new", flags)
        yield Case(f"flags {flags:#x}", "linkat", arguments)


def _temporary() -> int:
    number = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600)
    os.write(number, b"temporary")
    return number


def _removed() -> int:
    number = os.open("second", os.O_RDONLY)
    Path("second").unlink()
    return number


def _link_in_proc() -> str:
    return f"/proc/self/fd/{_temporary()}"


def _cases_of_directories() -> Iterator[Case]:
    descriptors: dict[str, Callable[[], int]] = {
        "cwd": lambda: AT_FDCWD,
        "file": lambda: os.open("file", os.O_RDONLY),
        "pinned file": lambda: os.open("file", os.O_PATH),
        "pinned link": lambda: os.open("to-file", os.O_PATH | os.O_NOFOLLOW),
        "directory": lambda: os.open("full", os.O_RDONLY),
        "temporary": _temporary,
        "removed": _removed,
        "pipe": lambda: os.pipe()[0],
        "closed": lambda: 987,
    }
    for (name, opens), flags, path in product(
        descriptors.items(), (0, _EMPTY, _EMPTY | _FOLLOW), ("", "file", None)
    ):
        arguments = (opens, path, AT_FDCWD, "new", flags)
        yield Case(f"{name} {flags:#x} {path}", "linkat", arguments)
    for flags in (0, _FOLLOW):
        by_link = (AT_FDCWD, _link_in_proc, AT_FDCWD, "new", flags)
        yield Case(f"temporary in /proc {flags:#x}", "linkat", by_link)


@pytest.mark.parametrize("user", [None, NOBODY], ids=["as it is", "as nobody"])
def test_links_do_what_they_do_natively(directory: Path, user: int | None) -> None:
    if user is not None and os.geteuid() != 0:
        pytest.skip("only root can be somebody else")
    cases = tuple(_cases())

    def act() -> object:
        return run_cases(directory, cases)

    native = forked(act, user=user)
    Path("/dev/shm/redlane-new").unlink(missing_ok=True)
    emulated = supervised(act, CALLS, _handlers(), user=user)
    Path("/dev/shm/redlane-new").unlink(missing_ok=True)

    assert difference(native, emulated.result) == []
    asked, unfaithful = emulated.log
    assert not unfaithful
    assert len(asked) >= len(cases)


def _keeps_secret(name: str, candidates: tuple[bytes | None, ...]) -> bool:
    return name == "openat" and any(
        each is None or each.endswith(b"/secret") for each in candidates
    )


@pytest.mark.parametrize(
    ("old", "new", "flags", "is_refused"),
    [
        pytest.param("secret", "x", 0, True, id="by its path"),
        pytest.param("to-secret", "x", _FOLLOW, True, id="through a symlink"),
        pytest.param("to-secret", "x", 0, False, id="the symlink itself"),
        pytest.param("other", "below/secret", 0, True, id="to such a path"),
        pytest.param("other", "x", 0, False, id="something else"),
    ],
)
def test_what_may_not_be_opened_gets_no_other_name(
    directory: Path, old: str, new: str, flags: int, *, is_refused: bool
) -> None:
    def act() -> str:
        os.chdir(directory)
        Path("below").mkdir()
        for each in ("secret", "other"):
            Path(each).write_text(each)
        Path("to-secret").symlink_to("secret")
        try:
            raw("linkat", AT_FDCWD, old, AT_FDCWD, new, flags)
        except PermissionError:
            return "refused"
        return "done"

    outcome = supervised(act, CALLS, _handlers(_keeps_secret, {"openat": True}))

    assert outcome.result == ("refused" if is_refused else "done")


def test_a_descriptor_of_it_gets_no_name_either(directory: Path) -> None:
    def act() -> str:
        os.chdir(directory)
        Path("secret").write_text("secret")
        number = os.open("secret", os.O_RDONLY)
        try:
            raw("linkat", number, "", AT_FDCWD, "x", _EMPTY)
        except PermissionError:
            return "refused"
        return "done"

    outcome = supervised(act, CALLS, _handlers(_keeps_secret, {"openat": True}))

    assert outcome.result == "refused"


def test_a_nameless_file_may_be_given_a_name(directory: Path) -> None:
    def act() -> str:
        os.chdir(directory)
        raw("linkat", _temporary(), "", AT_FDCWD, "x", _EMPTY)
        return Path("x").read_text()

    outcome = supervised(act, CALLS, _handlers(_keeps_secret, {"openat": True}))

    assert outcome.result == "temporary"
