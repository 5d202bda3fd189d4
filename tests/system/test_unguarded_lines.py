"""A shell whose line says whole what it runs is judged where it stands, and runs by it.

Every other one becomes the guarded shell, which gives it another line.
"""

import json
import os
import pwd
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from calls_home import needs_filters
from spec.redlane_home import Home

pytestmark = needs_filters

SHOWS = "cat /proc/$$/cmdline; :"
OWN, ANOTHER = b"-c\0cat", b"-c\0--\0cat"
OWN_HOME = pwd.getpwuid(os.geteuid()).pw_dir
STARTS = """\
import json, subprocess, sys
words, program, more = json.loads(sys.argv[1])
done = subprocess.run(words, executable=program, env=more and {"PATH": "/bin"} | more)
sys.exit(done.returncode)
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    made = Home(tmp_path_factory.mktemp("h"))
    word = {"type": "Simple", "context": "Shell"}
    into = {"type": "Regex", "pattern": "beer", "replacement": "tea"}
    made.policies(
        {**word, "id": "no", "action": "Block", "pattern": "forbidden"},
        {**word, "id": "hold", "action": "Flag", "pattern": "held"},
        {**word, "id": "tea", "action": "Modify", "pattern": "beer", "transform": into},
    )
    made.role("plain", "no", "hold", "tea")
    made.settings(review={"timeout_seconds": 1})
    assert made.start("--role", "plain").code == 0
    yield made
    made.stop()


def verdicts(home: Home) -> list[str]:
    """Of all events so far."""
    rows = home.control.rows("/api/events?limit=1000")
    return [each["verdict"] for each in rows]


def started(
    home: Home, words: tuple[str, ...], program: str, more: Mapping[str, str]
) -> tuple[int, bytes]:
    """What a shell gives that a program of a session starts."""
    told = json.dumps([words, program or None, more or None])
    done = home.run("run", "--", sys.executable, "-c", STARTS, told)
    return done.code, done.out.encode()


WHOLE = {
    "sh": (("sh", "-c", SHOWS), "/bin/sh", {}),
    "by its path": (("/bin/sh", "-c", SHOWS), "", {}),
    "bash": (("bash", "-c", SHOWS), "/bin/bash", {"HOME": OWN_HOME}),
    "with words": (("sh", "-c", SHOWS, "a", "-x"), "/bin/sh", {}),
    "with variables": (("sh", "-c", SHOWS), "/bin/sh", {"A": "b", "LC_ALL": "C"}),
}
OTHERS = {
    "another name": (("ksh", "-c", SHOWS), "/bin/sh", {}),
    "a relative name": (("./sh", "-c", SHOWS), "/bin/sh", {}),
    "a login": (("-bash", "-c", SHOWS), "/bin/bash", {}),
    "options": (("sh", "-ec", SHOWS), "/bin/sh", {}),
    "options behind": (("bash", "-c", "-e", SHOWS), "/bin/bash", {}),
    "named as another": (("sh", "-c", SHOWS), "/bin/bash", {}),
    "a variable that runs": (("bash", "-c", SHOWS), "/bin/bash", {"BASH_ENV": "/x"}),
    "one for the loader": (("sh", "-c", SHOWS), "/bin/sh", {"LD_DEBUG": "x"}),
    "another home": (("bash", "-c", SHOWS), "/bin/bash", {"HOME": "/x"}),
    "very long": (("sh", "-c", SHOWS + " " * 65536), "/bin/sh", {}),
}


@pytest.mark.parametrize(("words", "program", "more"), WHOLE.values(), ids=WHOLE)
def test_shell_whose_line_says_all_runs_by_it(
    home: Home, words: tuple[str, ...], program: str, more: Mapping[str, str]
) -> None:
    before = len(verdicts(home))

    code, out = started(home, words, program, more)

    assert code == 0
    assert OWN in out
    assert verdicts(home)[before:] == ["ALLOW"]


@pytest.mark.parametrize(("words", "program", "more"), OTHERS.values(), ids=OTHERS)
def test_others_run_by_a_line_of_the_guarded_shells_making(
    home: Home, words: tuple[str, ...], program: str, more: Mapping[str, str]
) -> None:
    code, out = started(home, words, program, more)

    assert code == 0
    assert OWN not in out
    assert ANOTHER in out or b"-c\0-e\0" in out or b"-e\0-c\0" in out


def test_copy_of_a_shell_becomes_the_machines(home: Home, tmp_path: Path) -> None:
    copy = str(shutil.copy("/bin/dash", tmp_path / "sh"))

    code, out = started(home, (copy, "-c", SHOWS), "", {})

    assert (code, ANOTHER in out) == (0, True)


VERDICTS = {
    "refused": ("echo forbidden", 126, b"", ["BLOCK"]),
    "held": ("echo held", 126, b"", ["FLAG", "BLOCK"]),
    "rewritten": ("echo beer", 0, b"tea\n", ["MODIFY"]),
}


@pytest.mark.parametrize(
    ("text", "status", "said", "told"), VERDICTS.values(), ids=VERDICTS
)
def test_what_does_not_go_on_as_it_is_is_judged_once_more_and_told_once(
    home: Home, text: str, status: int, said: bytes, told: list[str]
) -> None:
    before = len(verdicts(home))

    found = started(home, ("sh", "-c", text), "/bin/sh", {})

    assert found == (status, said)
    assert verdicts(home)[before:] == told


SHARES = """\
import ctypes, os, sys
libc, clone = ctypes.CDLL(None), {"x86_64": 56, "aarch64": 220}[os.uname().machine]
ends, kept = os.pipe()
shell = libc.syscall(clone, 0x200 | 17, 0, 0, 0, 0)  # CLONE_FS | SIGCHLD
if not shell:
    os.dup2(ends, 0)
    os.close(kept)
    os.execv("/bin/sh", ["sh", *sys.argv[2:]])
while "sh" not in os.readlink(f"/proc/{shell}/exe").split("/")[-1]:
    pass
os.read(os.open(sys.argv[1], os.O_RDONLY), 1)
os.chdir("/")
os.write(kept, b"\\n")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(shell, 0)[1]))
"""


@pytest.mark.parametrize("option", ["-c", "-ec"])
def test_nobody_moves_a_shell_that_was_judged(
    home: Home, tmp_path: Path, option: str
) -> None:
    """Another process that shares its directory changes it for both."""
    os.mkfifo(tmp_path / "stands")
    text = f"echo > {tmp_path}/stands; read line; /bin/pwd -P"

    words = (sys.executable, "-c", SHARES, f"{tmp_path}/stands", option, text)
    done = home.run("run", "--", *words, cwd=tmp_path)

    assert (done.code, done.out) == (0, f"{os.path.realpath(tmp_path)}\n"), done
