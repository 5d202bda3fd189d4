"""In root's sessions the programs of other users are asked about in their place.

Root's own daemon is closed to them.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from calls_home import needs_filters
from spec.redlane_home import REDLANE, Home, Ran
from system.hidden_ground import PYTHON

pytestmark = [
    needs_filters,
    pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: needs root"),
]

FINE, FORBIDDEN = "echo said-$((1+1))", "echo said-$((1+1)) forbidden-word"
REASON = "redlane: blocked: policy 'no-word' blocks this"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    made = Home(tmp_path_factory.mktemp("h"))
    word = {"type": "Simple", "context": "Shell", "pattern": "forbidden-word"}
    made.policies({**word, "id": "no-word", "action": "Block"})
    made.role("plain", "no-word")
    assert made.start("--role", "plain").code == 0
    yield made
    made.stop()


def by_another_user(home: Home, *command: str) -> Ran:
    """Root in a container may not read everybody's limits."""
    drop = ("--bounding-set", "-sys_resource", "--", str(REDLANE))
    other = ("setpriv", "--reuid", "65534", "--clear-groups", "--", *command)
    words = (*drop, "run", "--role", "plain", "--", *other)
    env = {"PATH": os.environ["PATH"]}
    return home.run(*words, env=env, program=Path("setpriv"))


@pytest.mark.parametrize("shell", ["/bin/sh", "sh", "/bin/bash", "bash"])
def test_shell_of_another_user_is_asked_for(home: Home, shell: str) -> None:
    """The daemon is closed to that user."""
    refused = by_another_user(home, shell, "-ec", FORBIDDEN)
    fine = by_another_user(home, shell, "-ec", f"{FINE}; id -u")

    assert (refused.code, refused.out, refused.err) == (126, "", f"{REASON}\n")
    assert (fine.code, fine.out, fine.err) == (0, "said-2\n65534\n", "")


def test_what_a_shell_of_another_user_starts_is_asked_for(home: Home) -> None:
    code = "import subprocess as s; s.run(['echo', 'drow-neddibrof'[::-1]])"
    text = f'{PYTHON} -Ic "$0"; id -u'
    done = by_another_user(home, "bash", "-c", text, code)

    assert (done.out, done.err) == ("65534\n", f"{REASON}\n")


def test_shell_of_another_user_takes_no_commands_from_a_terminal(home: Home) -> None:
    done = by_another_user(home, "bash", "-i")

    assert (done.code, done.out) == (126, "")
    assert done.err.startswith("redlane: a shell of another user, ")


IN_A_ROOT = """import os, sys
os.chroot(sys.argv[1])
os.chdir(sys.argv[2])
os.setgroups([]); os.setuid(65534)
os.execv("/bin/sh", ["sh", sys.argv[3]])
"""


@pytest.fixture(scope="module")
def root_of_its_own(home: Home) -> Path:
    """A directory with a shell, and two scripts below `t`."""
    top = home.user.parent / "root"
    told = subprocess.check_output(["ldd", "/bin/dash"], text=True)
    files = [each for each in told.split() if each.startswith("/")]
    for each in ("/bin/dash", *files):
        place = top / each.removeprefix("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(each, place)
    (top / "bin/dash").rename(top / "bin/sh")
    (top / "t").mkdir()
    (top / "t/fine.sh").write_text(f"{FINE}\n")
    (top / "t/evil.sh").write_text(f"{FORBIDDEN}\n")
    return top


@pytest.mark.parametrize(
    ("directory", "path"), [("/t", "{}.sh"), ("/", "t/{}.sh"), ("/bin", "/t/{}.sh")]
)
def test_script_is_read_where_another_user_finds_it(
    home: Home, root_of_its_own: Path, directory: str, path: str
) -> None:
    def ran(script: str) -> Ran:
        words = (str(root_of_its_own), directory, path.format(script))
        return home.run(
            "run", "--role", "plain", "--", PYTHON, "-Ic", IN_A_ROOT, *words
        )

    assert (ran("fine").out, ran("evil").out) == ("said-2\n", "")
    assert REASON in ran("evil").err
