"""What the extension makes, removes and renames is what Python would, judged alike."""

import os
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from syscall_harness import Kit, forked
from syscall_quick import OPENS, Bench, WordJudge, changing, remove
from tiers import examples

from redlane_context_syscall.calls import GO_ON, Answer, Handler
from redlane_context_syscall.hot import is_built
from redlane_context_syscall.kernel.listener import Notification

pytestmark = pytest.mark.skipif(
    not is_built(), reason="NOT TESTED: the extension _hot is not built here"
)

REMOVALS = ("unlink", "unlinkat", "rmdir")
RENAMES = ("rename", "renameat", "renameat2")
CHANGES = (*OPENS, "mkdir", "mkdirat", *REMOVALS, *RENAMES)
NAMES = (
    *("file", "other", "new", "directory", "directory/inner", "directory/new"),
    *("link", "dangling", "to-directory/inner", "to-directory/new", "to-directory"),
    *("blocked", "directory/blocked", "flagged", "blocked-too/new", "sticky/theirs"),
    *(".", "..", "./new", "../tree/new", "directory/../new", "directory//new"),
    *(
        "new/",
        "directory/",
        "directory/.",
        "file/new",
        "missing/new",
        "socket",
        "x" * 256,
    ),
    *("sealed/file", "sealed/new", "hard", " (deleted)", "x" * 256),
)
MAKING = (
    *(os.O_WRONLY, os.O_RDWR | os.O_TRUNC, os.O_WRONLY | os.O_EXCL, os.O_RDONLY),
    *(os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, os.O_RDWR | os.O_NOFOLLOW),
    *(os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW, os.O_WRONLY | os.O_DIRECTORY),
)


@pytest.fixture
def place() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="redlane-"))
    path.chmod(0o777)
    yield path
    remove(path)


def plant(work: Path) -> None:
    work.mkdir()
    for name in ("file", "other", "blocked", "flagged"):
        (work / name).write_text(name)
    for name in ("directory", "sealed", "sticky", "blocked-too"):
        (work / name).mkdir()
    for name in ("directory/inner", "directory/blocked", "sealed/file"):
        (work / name).write_text(name)
    (work / "sticky/theirs").write_text("theirs")
    (work / "sticky").chmod(0o1777)
    os.link(work / "other", work / "hard")
    os.mknod(work / "socket", 0o644 | stat.S_IFSOCK)
    for name, where in (
        *(("link", "file"), ("dangling", "nowhere"), ("to-directory", "directory")),
    ):
        (work / name).symlink_to(where)
    (work / "sealed").chmod(0o555)


def tree(work: Path) -> list[tuple[object, ...]]:
    """What there is: paths, kinds and rights, sizes, where links lead."""
    found: list[tuple[object, ...]] = []
    for top, directories, files in os.walk(work):
        for name in sorted((*directories, *files)):
            path = Path(top) / name
            about = path.lstat()
            leads = str(path.readlink()) if stat.S_ISLNK(about.st_mode) else ""
            size = 0 if stat.S_ISDIR(about.st_mode) else about.st_size
            shown = str(path.relative_to(work))
            found.append((shown, stat.filemode(about.st_mode), size, leads))
    return sorted(found)


Step = tuple[str, str, str, str, int, int]
"""A deed, how its paths begin, the name, the second name, flags, rights."""


def step_of(work: Path, inside: int, step: Step) -> object:
    deed, start, name, second, flags, rights = step
    directory = inside if start == "dirfd" else None
    if start == "absolute":
        name, second = f"{work}/{name}", f"{work}/{second}"
    if deed == "make":
        number = os.open(name, flags | os.O_CREAT, rights, dir_fd=directory)
        written = os.write(number, b"text") if flags & 3 else 0
        os.close(number)
        return written
    if deed == "mkdir":
        return os.mkdir(name, rights, dir_fd=directory)
    if deed == "unlink":
        return os.unlink(name, dir_fd=directory)
    if deed == "rmdir":
        return os.rmdir(name, dir_fd=directory)
    return os.rename(name, second, src_dir_fd=directory, dst_dir_fd=directory)


def changed(work: Path, steps: Sequence[Step]) -> list[object]:
    """What each step gives, and what is there in the end."""
    os.chdir(work)
    inside = os.open("directory", os.O_RDONLY)
    results: list[object] = []
    for number, step in enumerate(steps):
        os.umask((0o022, 0o077, 0)[number % 3])
        try:
            results.append(step_of(work, inside, step))
        except OSError as error:
            results.append(error.errno)
    return results


STEPS = st.lists(
    st.tuples(
        st.sampled_from(("make", "make", "mkdir", "unlink", "rmdir", "rename")),
        st.sampled_from(("", "dirfd", "absolute")),
        st.sampled_from(NAMES),
        st.sampled_from(NAMES),
        st.sampled_from(MAKING),
        st.sampled_from((0o644, 0o600, 0o777, 0o4755)),
    ),
    min_size=1,
    max_size=40,
)


def run(work: Path, act: Callable[[], Any], bench: Bench | None) -> tuple[Any, ...]:
    """What comes of a run from the start: results, the tree, what was judged."""
    plant(work)
    try:
        if bench is None:
            return forked(act), tree(work), None
        outcome = bench.run(act, CHANGES)
        return outcome.result, tree(work), outcome.log
    finally:
        remove(work)


@settings(
    max_examples=examples(300),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=STEPS, named=st.sampled_from((OPENS, REMOVALS, ())))
def test_any_sequence_of_changes_is_answered_and_judged_alike(
    place: Path, steps: list[Step], named: tuple[str, ...]
) -> None:
    work = place / "tree"
    act = partial(changed, work, steps)
    plain, quick = (
        run(work, act, Bench(quick=is_quick, named=named)) for is_quick in (False, True)
    )
    assert plain[0] == quick[0], "results differ"
    assert plain[1] == quick[1], "trees differ"
    assert plain[2] == quick[2], "what was judged or reported differs"


@settings(
    max_examples=examples(300),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=STEPS)
def test_any_sequence_of_changes_is_what_it_would_be_natively(
    place: Path, steps: list[Step]
) -> None:
    work = place / "tree"
    act = partial(changed, work, steps)
    native = run(work, act, None)
    quick = run(work, act, Bench(quick=True, blocked="", named=()))
    assert native[:2] == quick[:2]


def test_the_extension_does_these_itself(place: Path) -> None:
    """Handlers in Python are not asked to do what is plain."""
    work = place / "tree"
    bench = Bench(quick=True, blocked="", named=())
    done: list[str] = []

    def watched(_: WordJudge, kit: Kit) -> dict[str, Handler]:
        def refused(notification: Notification) -> Answer:
            kit.log.append(notification.number)
            return GO_ON

        names = ("openat", "mkdir", "unlink", "rmdir", "rename")
        return dict.fromkeys(names, refused)

    bench.extra = watched

    def act() -> list[str]:
        os.chdir(work)
        for number in range(2):
            for name in ("one", "two"):
                os.close(os.open(name, os.O_CREAT | os.O_WRONLY, 0o600))
            Path("three").mkdir()
            Path("one").rename("three/one")
            Path("three/one").unlink()
            Path("two").unlink()
            Path("three").rmdir()
            done.append(str(number))
        return done

    plant(work)
    outcome = bench.run(act, ("openat", "mkdir", "unlink", "rmdir", "rename"))
    assert outcome.result == ["0", "1"]
    assert outcome.log[1:] == []


def test_a_file_is_not_left_behind_where_its_caller_has_no_room(place: Path) -> None:
    import resource  # noqa: PLC0415  # the child opens nothing on its way

    bench = Bench(quick=True, blocked="", named=())

    def act() -> list[object]:
        os.chdir(place)
        resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))
        held: list[object] = []
        while True:
            try:
                held.append(os.open(f"f{len(held)}", os.O_CREAT | os.O_WRONLY))
            except OSError as error:
                return [error.errno, len(held)]

    errno, count = bench.run(act, CHANGES).result
    assert errno == 24  # EMFILE
    assert len(list(place.iterdir())) == count


def test_every_change_of_rules_counts_for_removals(place: Path) -> None:
    bench = Bench(quick=True, blocked="", named=())

    bench.extra = changing

    def act() -> list[object]:
        def remove() -> object:
            os.close(os.open(f"{place}/file", os.O_CREAT | os.O_WRONLY))
            return (place / "file").unlink()

        before = [remove() for _ in range(3)]
        (place / "file").write_text("kept")
        os.getppid()
        try:
            (place / "file").unlink()
        except OSError as error:
            return [before, error.errno]
        return [before, 0]

    assert bench.run(act, (*CHANGES, "getppid")).result == [[None] * 3, 1]
