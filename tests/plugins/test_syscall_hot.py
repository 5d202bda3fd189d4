"""The extension does what the handlers in Python do, and has the same things judged."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from syscall_harness import NOBODY, Kit, forked
from syscall_opens import Opens, make_tree
from syscall_quick import OPENS, Bench, WordJudge, changing, remove
from syscall_trees import SHARES
from tiers import examples

from redlane_context_syscall.calls import GO_ON, Answer, Handler
from redlane_context_syscall.hot import is_built
from redlane_context_syscall.kernel.listener import Notification

pytestmark = pytest.mark.skipif(
    not is_built(), reason="NOT TESTED: the extension _hot is not built here"
)

IS_ROOT = os.geteuid() == 0
USERS = [
    pytest.param(0, id="root", marks=pytest.mark.skipif(not IS_ROOT, reason="no root")),
    pytest.param(NOBODY if IS_ROOT else None, id="ordinary user"),
]


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that any user may reach, and that is everybody's."""
    path = Path(tempfile.mkdtemp(prefix="redlane-"))
    path.chmod(0o777)
    yield path
    remove(path)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("user", USERS)
def test_every_open_is_what_it_would_be_natively(
    place: Path, user: int | None, share: int
) -> None:
    tree = place / "tree"
    opens = Opens(tree, share)

    def prepare() -> None:
        make_tree(tree)
        opens.prepare()

    def natively() -> dict[str, Any]:
        prepare()
        return opens.run()

    native = forked(natively, user=user)
    remove(tree)
    bench = Bench(quick=True, blocked="")
    outcome = bench.run(opens.run, user=user, before=prepare)
    wrong = [
        f"{key}: natively {told}, supervised {outcome.result[key]}"
        for key, told in native.items()
        if told != outcome.result[key]
    ]
    assert not wrong, f"{len(wrong)} of {len(native)}:\n" + "\n".join(wrong[:40])


NAMES = (
    *("file", "other", "directory", "directory/inner", "link", "directory/link"),
    *("missing", "directory/missing", "missing/inner", "file/inner", "dangling"),
    *("blocked", "directory/blocked", "to-blocked", "flagged", "to-flagged"),
    *(".", "..", "./file", "directory/../file", "directory/", "file/", "fifo", "null"),
)
FLAGS = (
    *(os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_APPEND | os.O_WRONLY),
    *(os.O_DIRECTORY, os.O_NOFOLLOW, os.O_NONBLOCK, os.O_NOFOLLOW | os.O_DIRECTORY),
    *(os.O_PATH, os.O_CLOEXEC, os.O_CREAT | os.O_WRONLY, os.O_TRUNC | os.O_WRONLY),
)


def make_names(place: Path) -> None:
    for name in ("file", "other", "blocked", "flagged"):
        (place / name).write_text(name)
    (place / "directory").mkdir()
    for name in ("inner", "blocked"):
        (place / "directory" / name).write_text(name)
    os.mkfifo(place / "fifo")
    for name, where in (
        *(("link", "file"), ("directory/link", "../other"), ("dangling", "nowhere")),
        *(("to-blocked", "blocked"), ("to-flagged", "flagged"), ("null", "/dev/null")),
    ):
        (place / name).symlink_to(where)


def seen(descriptor: int) -> tuple[Any, ...]:
    import fcntl  # noqa: PLC0415  # the child has to open nothing on its way here

    flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
    close_on_exec = fcntl.fcntl(descriptor, fcntl.F_GETFD)
    found = os.stat(descriptor)
    os.close(descriptor)
    return flags, close_on_exec, found.st_ino, found.st_size


def opened(place: Path, steps: Sequence[tuple[str, str, int]]) -> list[Any]:
    """What each step gives: how the path starts, its name, the flags."""
    os.chdir(place)
    inside = os.open("directory", os.O_RDONLY)
    starts = {"": None, "dirfd": inside, "absolute": None}
    results: list[Any] = []
    for start, name, flags in steps:
        path = f"{place}/{name}" if start == "absolute" else name
        waits = os.O_NONBLOCK if name == "fifo" else 0
        try:
            descriptor = os.open(path, flags | waits, 0o600, dir_fd=starts[start])
        except OSError as error:
            results.append(error.errno)
        else:
            results.append(seen(descriptor))
    return results


STEPS = st.lists(
    st.tuples(
        st.sampled_from(("", "dirfd", "absolute")),
        st.sampled_from(NAMES),
        st.sampled_from(FLAGS),
    ),
    min_size=1,
    max_size=60,
)


@settings(
    max_examples=examples(25),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=STEPS)
def test_any_sequence_is_answered_and_judged_alike(
    place: Path, steps: list[tuple[str, str, int]]
) -> None:
    outcomes = []
    for quick in (False, True):
        # At the same path both times, so that what is told of it can be compared.
        work = place / "work"
        work.mkdir()
        make_names(work)
        outcome = Bench(quick=quick).run(partial(opened, work, steps))
        shutil.rmtree(work)
        outcomes.append(outcome)
    plain, quick_one = outcomes
    assert _without_inodes(plain.result) == _without_inodes(quick_one.result)
    assert plain.log[1:] == quick_one.log[1:], "reports differ"
    assert plain.log[0] == quick_one.log[0], "what was ruled on differs"


def _without_inodes(results: list[Any]) -> list[Any]:
    """A second tree may get other numbers."""
    return [
        (*each[:2], *each[3:]) if isinstance(each, tuple) else each for each in results
    ]


def test_what_was_allowed_is_not_asked_again(place: Path) -> None:
    make_names(place)

    def act() -> list[Any]:
        return opened(place, [("absolute", "file", os.O_RDONLY)] * 20)

    outcome = Bench(quick=True).run(act)
    asked = [paths for _, paths, _ in outcome.log[0] if paths[0].endswith("/file")]
    assert len(asked) == 1


def test_rules_that_change_count_for_the_next_call(place: Path) -> None:
    make_names(place)
    bench = Bench(quick=True)

    bench.extra = changing

    def act() -> list[Any]:
        steps = [("absolute", "file", os.O_RDONLY)] * 3
        before = opened(place, steps)
        os.getppid()
        os.chdir("/")
        return [before, _error_of(f"{place}/file")]

    outcome = bench.run(act, (*OPENS, "getppid"))
    before, after = outcome.result
    assert all(isinstance(each, tuple) for each in before)
    assert after == 1  # EPERM


def _error_of(path: str) -> int | None:
    try:
        os.close(os.open(path, os.O_RDONLY))
    except OSError as error:
        return error.errno
    return None


def test_it_answers_nothing_once_a_task_differs(place: Path) -> None:
    make_names(place)
    bench = Bench(quick=True)

    def parting(_: WordJudge, kit: Kit) -> dict[str, Handler]:
        def part(notification: Notification) -> Answer:  # noqa: ARG001
            kit.world.note_root()
            kit.log.append("parted")
            return GO_ON

        return {"getppid": part}

    bench.extra = parting

    def act() -> list[Any]:
        path = [("absolute", "file", os.O_RDONLY)]
        return [opened(place, path), os.getppid(), opened(place, path)]

    outcome = bench.run(act, (*OPENS, "getppid"))
    first, _, second = outcome.result
    assert first == second
    assert outcome.log[1] == "parted"


def test_a_path_is_read_from_the_program_that_runs_now(place: Path) -> None:
    """A child of vfork shares its parent's memory until it executes a program."""
    make_names(place)

    def act() -> list[str]:
        words = ["/bin/cat", f"{place}/file", f"{place}/other"]
        return [
            subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout.decode()
            for _ in range(5)
        ]

    assert Bench(quick=True).run(act).result == ["fileother"] * 5


def test_many_threads_are_answered(place: Path) -> None:
    make_names(place)

    def act() -> int:
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  # see `seen`

        with ThreadPoolExecutor(8) as pool:
            steps = [("absolute", "file", os.O_RDONLY), ("", "missing", os.O_RDONLY)]
            results = pool.map(lambda _: opened(place, steps * 20), range(8))
            return sum(isinstance(each, tuple) for ran in results for each in ran)

    assert Bench(quick=True).run(act).result == 8 * 20


@pytest.mark.parametrize("quick", [True, False], ids=["extension", "Python"])
def test_a_supervisor_that_is_stopped_gives_no_wrong_file(
    place: Path, *, quick: bool
) -> None:
    (place / "file").write_text("contents")
    path = str(place / "file")

    def stop_and_continue(process: int) -> None:
        for _ in range(400):
            os.kill(process, signal.SIGSTOP)
            os.kill(process, signal.SIGCONT)
            time.sleep(0.001)
        os._exit(0)

    def act() -> set[int]:
        supervisor = os.getppid()
        stopper = os.fork()
        if not stopper:
            stop_and_continue(supervisor)
        seen = set()
        while os.waitpid(stopper, os.WNOHANG) == (0, 0):
            number = os.open(path, os.O_RDONLY)
            seen.add(number)
            os.close(number)
        return {each for each in seen if each <= 2}

    assert Bench(quick=quick, blocked="").run(act).result == set()
