"""Children end in time, leave nothing behind, and only an exit status is an answer."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path

import pytest
from core.children import is_gone, run, shell, wait_until

from redlane.execution import (
    CHECK_SECONDS,
    MOST_OUTPUT,
    Command,
    Manner,
    run_all,
)
from redlane.execution.side_by_side import run_side_by_side

pytestmark = pytest.mark.usefixtures("nothing_is_left")

LARGE = b"x" * 16_000_000


@pytest.mark.parametrize("status", [0, 1, 2, 126, 127, 137, 255])
def test_exit_status_is_the_answer(status: int) -> None:
    ending = shell(f"exit {status}")
    assert (ending.manner, ending.status) == (Manner.EXITED, status)
    assert ending.failure is None


@pytest.mark.parametrize(
    "name", ["SIGKILL", "SIGTERM", "SIGSEGV", "SIGABRT", "SIGPIPE"]
)
def test_death_by_signal_is_a_failure(name: str) -> None:
    ending = shell(f"kill -{name.removeprefix('SIG')} $$")
    assert ending.manner is Manner.KILLED
    assert ending.failure == f"was killed by {name}"


def test_death_by_realtime_signal_is_a_failure() -> None:
    ending = run(sys.executable, "-c", "import os; os.kill(os.getpid(), 40)")
    assert ending.failure == "was killed by signal 40"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "plain").write_text("#!/bin/sh\nexit 0\n")
    texts = {
        "no-interpreter": "#!/no/such/interpreter\n",
        "no-shebang": "exit 0\n",
        "empty": "",
        "half-elf": "\x7fELF",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "dangling").symlink_to("nowhere")
    os.mkfifo(tmp_path / "fifo", 0o755)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("missing", "No such file"),
        ("plain", "Permission denied"),
        (".", "Permission denied"),
        ("plain/x", "Not a directory"),
        ("no-interpreter", "No such file"),
        ("no-shebang", "Exec format error"),
        ("empty", "Exec format error"),
        ("half-elf", "Exec format error"),
        ("loop", "symbolic links"),
        ("dangling", "No such file"),
        ("fifo", "Permission denied"),
        ("n" * 300, "File name too long"),
    ],
)
def test_what_cannot_be_executed_is_a_failure(
    files: Path, name: str, reason: str
) -> None:
    ending = run(str(files / name))
    assert ending.manner is Manner.NOT_STARTED
    assert reason in ending.told


@pytest.mark.parametrize(
    "words",
    [
        ("no-such-program",),
        ("",),
        (),
        ("true", "a\0b"),
        ("true", "\ud800"),
        ("true", "x" * 10_000_000),
        ("true", *["x"] * 3_000_000),
    ],
    ids=["missing", "empty", "no word", "NUL", "surrogate", "long word", "many words"],
)
def test_words_that_no_program_can_get_are_a_failure(words: tuple[str, ...]) -> None:
    assert run(*words).manner is Manner.NOT_STARTED


def test_only_some_of_many_fail() -> None:
    words = [("true",), ("no-such-program",), ("false",), ("sh", "-c", "kill -9 $$")]
    endings = run_all([Command(each) for each in words], seconds=20)
    assert [each.failure is None for each in endings] == [True, False, True, False]


def test_no_command_gives_no_ending() -> None:
    assert run_all([]) == ()


def test_deadline_is_five_seconds_from_the_start() -> None:
    assert CHECK_SECONDS == 5
    start = time.monotonic()
    (ending,) = run_all([Command(("sleep", "20"))])  # later it would have exited
    assert ending.failure == "did not exit within 5 seconds"
    assert time.monotonic() - start >= 5


@pytest.mark.parametrize(
    "script",
    [
        "sleep 60",
        "trap '' TERM INT HUP; while :; do sleep 1; done",
        "while :; do :; done",
        "exec <&- >&-; sleep 60",
        "kill -STOP $$",
        "cat; sleep 60",
        "echo x; sleep 60",
        "for i in 1 2 3 4 5 6 7 8 9 10; do (trap '' TERM; sleep 60) & done; wait",
    ],
)
@pytest.mark.parametrize("stdin", [b"", LARGE], ids=["empty", "large"])
def test_what_does_not_exit_is_killed(script: str, stdin: bytes) -> None:
    ending = shell(script, stdin, seconds=0.3)
    assert ending.manner is Manner.TIMED_OUT


def test_fork_bomb_is_killed_whole() -> None:
    bomb = (
        "n() { [ $1 -gt 6 ] && exec sleep 61; n $(($1+1)) & n $(($1+1)) & wait; }; n 0"
    )
    assert shell(bomb, seconds=0.5).manner is Manner.TIMED_OUT

    def sleepers() -> list[Path]:
        return [path for path in Path("/proc").glob("[0-9]*/cmdline") if _is_bomb(path)]

    wait_until(lambda: not sleepers())


def _is_bomb(path: Path) -> bool:
    try:
        return path.read_bytes() == b"sleep\x0061\0"
    except OSError:
        return False


@pytest.mark.parametrize("status", [0, 3])
@pytest.mark.parametrize(
    "script",
    [
        "exit {}",
        "exec <&-; exit {}",
        "head -c 1 >/dev/null; exit {}",
        "exec <&- >&-; /bin/sleep 0.2; exit {}",
    ],
)
def test_exit_status_counts_though_stdin_was_cut_short(
    script: str, status: int
) -> None:
    ending = shell(script.format(status), LARGE)
    assert (ending.manner, ending.status) == (Manner.EXITED, status)


def test_large_content_comes_back_whole() -> None:
    content = os.urandom(16_000_000)
    assert run("cat", stdin=content).output == content


def test_child_that_talks_before_it_reads_does_not_deadlock() -> None:
    ending = shell("head -c 4000000 /dev/zero; wc -c", LARGE[:12_000_000])
    assert ending.output == b"\0" * 4_000_000 + b"12000000\n"


def test_checker_that_talks_forever_is_not_heard() -> None:
    script = "cat; head -c 30000000 /dev/zero; head -c 30000000 /dev/zero >&2"
    (ending,) = run_all([Command(("sh", "-c", script), LARGE)], seconds=20)
    assert (ending.manner, ending.status, ending.output) == (Manner.EXITED, 0, b"")


@pytest.mark.parametrize("more", [0, 1])
def test_output_is_kept_whole_or_not_at_all(more: int) -> None:
    ending = run("head", "-c", str(MOST_OUTPUT + more), "/dev/zero")
    if more:
        assert (ending.manner, ending.output) == (Manner.TOO_MUCH_OUTPUT, b"")
    else:
        assert (ending.manner, len(ending.output)) == (Manner.EXITED, MOST_OUTPUT)


def test_endless_output_is_a_failure_at_once() -> None:
    start = time.monotonic()
    assert run("yes").manner is Manner.TOO_MUCH_OUTPUT
    assert time.monotonic() - start < 5


def test_answer_comes_with_the_exit_and_what_is_left_is_killed() -> None:
    ending = shell("echo said; sleep 60 & echo $!; exit 3", LARGE)
    assert (ending.manner, ending.status) == (Manner.EXITED, 3)
    said, pid = ending.output.split()
    assert said == b"said"
    wait_until(lambda: is_gone(int(pid)))


DAEMON = """
import os, sys
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(1, b"%d\\n" % os.getpid())
        while True:
            os.write(1, b".")  # never so much that it is too much before the exit
    os._exit(0)
os.wait()
sys.exit(int(sys.argv[1]))
"""


@pytest.mark.parametrize("status", [0, 3])
def test_daemon_that_holds_the_output_open_delays_nothing(
    status: int, tmp_path: Path
) -> None:
    script = DAEMON.replace(
        'os.write(1, b"%d', "open(sys.argv[2], 'wb', 0).write(b\"%d"
    )
    start = time.monotonic()
    ending = run(
        sys.executable, "-c", script, str(status), str(tmp_path / "pid"), seconds=60
    )
    assert (ending.manner, ending.status) == (Manner.EXITED, status)
    assert time.monotonic() - start < 10
    wait_until((tmp_path / "pid").exists)
    # It floods a pipe that nobody reads any more: its next write ends it.
    wait_until(lambda: is_gone(int((tmp_path / "pid").read_text() or "0")))


def _ticking() -> Callable[[], float]:
    """A clock that goes on by a second each time it is read, as each start does."""
    return partial(next, count(0.0))


def test_queueing_is_not_part_of_the_deadline() -> None:
    commands = [Command(("true",))] * 50
    endings = run_side_by_side(
        commands, seconds=40, at_once=1, queue_seconds=1000, clock=_ticking()
    )
    assert [each.failure for each in endings] == [None] * 50


def test_queue_has_an_end() -> None:
    commands = [Command(("sleep", "60"))] * 30
    endings = run_side_by_side(
        commands, seconds=1, at_once=2, queue_seconds=20, clock=_ticking()
    )
    manners = [each.manner for each in endings]
    started = manners.count(Manner.TIMED_OUT)
    assert 2 < started < 20
    assert manners == [
        *[Manner.TIMED_OUT] * started,
        *[Manner.NOT_STARTED] * (30 - started),
    ]


def test_only_so_many_run_at_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    script = f"echo + >>{log}; sleep 0.1; echo - >>{log}"
    run_all([Command(("sh", "-c", script))] * 12, seconds=20, at_once=3)
    running = most = 0
    for line in log.read_text().split():
        running += 1 if line == "+" else -1
        most = max(most, running)
    assert 2 <= most <= 3


def test_commands_run_side_by_side(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    held = os.open(fifo, os.O_RDWR | os.O_CLOEXEC)  # so that no open of it waits
    waiting = Command(("head", "-c", "1", str(fifo)))
    last = Command(("sh", "-c", f"head -c 29 /dev/zero >{fifo}"))
    endings = run_all([*[waiting] * 29, last], seconds=60)
    os.close(held)
    assert [each.failure for each in endings] == [None] * 30


def test_hundreds_of_commands_keep_their_order() -> None:
    commands = [Command(("sh", "-c", f"exit {n % 100}")) for n in range(300)]
    statuses = [each.status for each in run_all(commands, seconds=20)]
    assert statuses == [n % 100 for n in range(300)]


def test_several_threads_run_commands_at_once() -> None:
    answers: dict[int, list[bytes]] = {}

    def work(number: int) -> None:
        command = Command(("cat",), b"%d" % number * 200_000, keeps_output=True)
        endings = run_all([command] * 5, seconds=60)
        answers[number] = [each.output for each in endings]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {n: [b"%d" % n * 200_000] * 5 for n in range(8)}


class InterruptedHereError(Exception):
    pass


def test_interruption_leaves_no_child_running() -> None:
    def interrupt(*_: object) -> None:
        raise InterruptedHereError

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        with pytest.raises(InterruptedHereError):
            run_all([Command(("sleep", "60"))] * 3, seconds=60)
    finally:
        signal.signal(signal.SIGALRM, before)
