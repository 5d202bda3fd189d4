"""A role hides files from its sessions: whatever reads them meets the kernel.

Each attempt runs as root and as an ordinary user, held by either who can. The programs
that own a file read it, by what they are and not by what they are called.
"""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import product

import pytest
from calls_home import needs_filters
from supervised import PEOPLE, Guarded, guarded, person_named, watching

pytestmark = [
    needs_filters,
    pytest.mark.skipif(
        not (shutil.which("git") and shutil.which("cc")),
        reason="NOT TESTED: there is no git, or no C compiler",
    ),
]

REFUSED = "Operation not permitted"
SECRET = "https://ada:s3cret@forge.example\n"
ASKING = "printf 'protocol=https\\nhost=forge.example\\n' |"
ASK = f"{ASKING} git credential-store get"
SPYING = """
#include <stdio.h>
__attribute__((constructor)) static void spy(void) {
    char text[64] = "";
    FILE *file = fopen(SECRET, "r");
    if (!file || !fgets(text, sizeof text, file)) perror("spy");
    printf("spied %s\\n", text);
}
"""


HOLDERS = {"plugin": ["watch"], "redlane-run": []}
"""Who hides files from a session, by the policies about system calls of its role."""


@pytest.fixture(
    scope="module",
    params=list(product(PEOPLE, HOLDERS)),
    ids="-".join,
)
def held(request: pytest.FixtureRequest) -> tuple[str, str]:
    person, holder = request.param
    return person, holder


@pytest.fixture
def holder(held: tuple[str, str]) -> str:
    return held[1]


@pytest.fixture(scope="module")
def there(held: tuple[str, str]) -> Iterator[Guarded]:
    person, holder = held
    with guarded(person_named(person)) as made:
        watches = HOLDERS[holder]
        for name, more in (("hides", "deny"), ("boxes", "allow")):
            hidden = ["@tokens", "~/own", "!~/own/shown"]
            made.home.role(name, *watches, hidden=hidden, namespaces=more)
        made.home.role("less", *watches, hidden=["@tokens"])
        made.home.policies(
            watching(),
            {"id": "word", "type": "Simple", "action": "Block", "pattern": "text"},
        )
        made.home.role("reads", "word", *watches, hidden=["~/own"])
        secret = made.home.user / ".git-credentials"
        secret.write_text(SECRET)
        (made.home.user / ".netrc").write_text("machine forge.example password s3cret")
        for each in ("own/shown/file", "own/file", "other/file"):
            path = made.home.user / each
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("text\n")
        source = made.base / "spy.c"
        source.write_text(SPYING.replace("SECRET", f'"{secret}"'))
        library = made.base / "spy.so"
        compiled = ("cc", "-shared", "-fPIC", "-o", library, source)
        subprocess.run(compiled, check=True)
        made.start()
        yield made


@pytest.fixture
def home(there: Guarded) -> Guarded:
    there.renew_work()
    return there


READING = {
    "read": "cat {0}",
    "redirect": "read -r x < {0}",
    "copy": "cp {0} .",
    "archive": "tar cf a.tar -C ~ own/file",
    "move away": "mv {0} moved",
    "move its directory": "mv ~/own moved",
    "link": "ln {0} second",
    "by a symlink": "ln -s {0} link; cat link",
    "by a symlink above": "ln -s ~/own link; cat link/file",
    "relative": "cd ~; cat other/../own/file",
    "by a directory's descriptor": "exec 5< ~; cat /proc/self/fd/5/own/file",
    "by another's root": "cat /proc/$$/root$HOME/own/file",
    "by another's directory": "cd ~; cat /proc/$$/cwd/own/file",
    "interpreter": "perl -e 'open F, shift or die $!' {0}",
    "to write": "perl -e 'open F, q(>>), shift or die $!' {0}",
    "encoded": "echo Y2F0ICIkMSIK | base64 -d | sh -s -- {0}",
    "as a script": "sh {0}",
    "as configuration": "git config -f {0} -l",
}


@pytest.mark.parametrize("way", READING)
def test_what_is_hidden_is_not_read(home: Guarded, way: str) -> None:
    command = READING[way].format("~/own/file")
    ran = home.supervised("bash", "-ec", command, role="hides")
    assert ran.code != 0
    assert REFUSED in ran.err or "is hidden from the session" in ran.err, ran
    assert "text" not in ran.out
    assert (home.home.user / "own" / "file").read_text() == "text\n"


@pytest.mark.parametrize("way", ["ls ~/own", "find ~/own -name file | grep ."])
def test_names_in_it_are_told_by_redlane_run(
    home: Guarded, holder: str, way: str
) -> None:
    ran = home.supervised("bash", "-ec", way, role="hides")
    if holder == "redlane-run":
        assert (ran.code, ran.err) == (0, ""), ran
        assert "file" in ran.out
    else:
        assert REFUSED in ran.err, ran


BESIDE = {
    "what is excepted": "cat ~/own/shown/file",
    "what stands beside it": "cat ~/other/file",
    "what it is like": "stat -c %s ~/own/file",
    "what is in the home": "ls -A ~",
}


@pytest.mark.parametrize("way", BESIDE)
def test_all_else_is_read(home: Guarded, way: str) -> None:
    ran = home.supervised("bash", "-ec", BESIDE[way], role="hides")
    assert (ran.code, ran.err) == (0, ""), ran
    assert ran.out


@pytest.mark.parametrize("command", [ASK, f"env sh -c {shlex.quote(ASK)}"])
def test_owner_reads_what_it_owns(home: Guarded, command: str) -> None:
    ran = home.supervised("bash", "-c", command, role="hides")
    assert ran == home.alone("sh", "-c", command)
    assert "password=s3cret" in ran.out


IMPOSTORS = {
    "a copy": f"cp $(which git) . && {ASKING} ./git credential-store get",
    "a name": "bash -c 'exec -a /usr/bin/git cat ~/.git-credentials'",
    "a program of that name": "cp /bin/cat git && PATH=.:$PATH git ~/.git-credentials",
    "the loader": (
        f"{ASKING} /lib64/ld-linux-x86-64.so.2 $(which git) credential-store get"
    ),
    "an owner of something else": "git config -f ~/own/file -l",
    "who has another program read it": "git diff --no-index /dev/null ~/.netrc",
}


@pytest.mark.parametrize("way", IMPOSTORS)
def test_who_is_no_owner_does_not_read_it(home: Guarded, way: str) -> None:
    ran = home.supervised("bash", "-c", IMPOSTORS[way], role="hides")
    assert "s3cret" not in ran.out
    assert "text" not in ran.out
    assert REFUSED in ran.err, ran


def test_owner_runs_without_any_variable(home: Guarded) -> None:
    program = f"import os; os.execve({shutil.which('git')!r}, ['git', 'version'], {{}})"
    ran = home.supervised(sys.executable, "-I", "-c", program, role="hides")
    assert ran.out.startswith("git version"), ran


def test_owner_runs_no_code_of_others(home: Guarded) -> None:
    setting = f"LD_PRELOAD={home.base}/spy.so"
    command = f"{ASKING} {setting} git credential-store get"
    ran = home.supervised("bash", "-c", command, role="hides")
    assert "password=s3cret" in ran.out, ran
    assert "spied" not in ran.out
    # Elsewhere the variable has its effect, so that there was one to be had.
    ran = home.supervised("bash", "-c", f"{setting} env", role="hides")
    assert "spied \n" in ran.out
    assert REFUSED in ran.err


ASKED_ABOUT = {
    "evaluated": 'false && eval "$(cat {0})"',
    "a script": "sh {0}",
    "sourced": ". {0}",
    "redirected": "sh < {0}",
}


@pytest.mark.parametrize("way", ASKED_ABOUT)
def test_a_verdict_tells_nothing_of_what_is_hidden(home: Guarded, way: str) -> None:
    said = {}
    for text in ("text", "else"):
        file = home.home.user / "own" / "file"
        file.write_text(f"{text}\n")
        command = ASKED_ABOUT[way].format(file)
        ran = home.supervised("bash", "-c", command, role="reads")
        said[text] = (ran.code, ran.out, "'word'" in ran.err)
    (home.home.user / "own" / "file").write_text("text\n")
    assert said["text"] == said["else"]


def test_owner_takes_nothing_out_of_its_place(home: Guarded) -> None:
    script = "cd ~; git init -q .; git mv -k .git-credentials moved; cat moved"
    ran = home.supervised("bash", "-c", script, role="hides")
    assert "s3cret" not in ran.out
    assert (home.home.user / ".git-credentials").is_file()


def test_memory_of_another_process_is_not_read(home: Guarded) -> None:
    text = (
        "import os, subprocess\n"
        "child = subprocess.Popen(['sleep', '60'])\n"
        "open('/proc/self/mem', 'rb').close()\n"
        "try:\n"
        "    open(f'/proc/{child.pid}/mem', 'rb')\n"
        "finally:\n"
        "    child.kill()\n"
    )
    ran = home.supervised(sys.executable, "-I", "-c", text, role="hides")
    assert "PermissionError" in ran.err, ran


TRACING = """
import ctypes, subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdin=-1, stdout=-1)
child.stdin.write(b"path=x\\n")
child.stdin.flush()
if sys.argv[1] == "tee":  # which then runs
    child.stdout.read(1)
library = ctypes.CDLL(None, use_errno=True)
print(library.ptrace(16, child.pid, 0, 0) and ctypes.get_errno())
child.kill()
"""
TRACED = {"plugin": "1\n", "redlane-run": "0\n"}


def test_owners_are_not_traced(home: Guarded, holder: str) -> None:
    """Nor any program, where the plugin holds."""
    tracing = (sys.executable, "-I", "-c", TRACING)
    ran = home.supervised(*tracing, "git", "credential-store", "get", role="hides")
    assert ran.out == "1\n", ran
    ran = home.supervised(*tracing, "tee", role="hides")
    assert ran.out == TRACED[holder], ran


BOX = "mkdir -p box; unshare -Urm sh -c 'mount --bind {0} box; cat box/file'"


def test_no_namespaces_are_entered_where_the_role_denies_them(home: Guarded) -> None:
    command = BOX.format("~/other")
    ran = home.supervised("bash", "-c", command, role="hides")
    assert REFUSED in ran.err, ran
    assert ran.out == ""


def test_it_is_hidden_in_boxes_as_well(home: Guarded, holder: str) -> None:
    command = BOX.format("~/other")
    native = home.alone("bash", "-c", command)
    if native.code != 0 or holder == "plugin":
        pytest.skip("NOT TESTED: no namespaces are to be had here, or they are denied")
    ran = home.supervised("bash", "-c", command, role="boxes")
    assert ran == native
    ran = home.supervised("bash", "-c", BOX.format("~/own"), role="boxes")
    assert REFUSED in ran.err, ran
    assert ran.out == ""


def test_refusal_is_an_event_with_path_and_program(home: Guarded) -> None:
    home.supervised("cat", "-u", home.home.user / "own" / "file", role="hides")
    events = home.home.control.get("/api/events?limit=50").json["events"]
    command = f'"command":"cat -u {home.home.user}/own/file"'
    (event,) = (each for each in events if command in each["content"])
    assert event["policy"] == "builtin:hidden"
    assert event["verdict"] == "BLOCK"
    assert f'"{home.home.user}/own/file"' in event["content"]


def test_role_that_hides_more_counts_for_sessions_that_run(
    home: Guarded, holder: str
) -> None:
    """Where `redlane-run` holds, they have to be started again."""
    waiting = "echo ready; read -r x; cat ~/own/file; echo status $?"
    with home.running("bash", "-c", waiting, role="less") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        sessions = home.home.control.get("/api/sessions").json["sessions"]
        running = [each for each in sessions if each["state"] == "running"]
        (session,) = (each["id"] for each in running if each["role"] == "less")
        changed = home.home.run("session", "set-role", "hides", "--session", session)
        if holder == "redlane-run":
            assert changed.code == 1, changed
            assert "start it again" in changed.err
            return
        assert changed.code == 0, changed
        process.stdin.write("go on\n")
        process.stdin.flush()
        assert process.stdout.readline() == "status 1\n"


def test_session_tells_what_is_hidden_from_it(home: Guarded) -> None:
    with home.running("cat", role="hides") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("ready\n")
        process.stdin.flush()
        assert process.stdout.readline() == "ready\n"
        shown = home.home.run("session", "list")
    assert "hides @tokens, ~/own, !~/own/shown" in shown.out


def test_what_is_hidden_comes_to_lie_in_no_core_file(there: Guarded) -> None:
    step = "ulimit -c; ulimit -c unlimited && ulimit -Hc"
    ran = there.supervised("/bin/bash", "-c", step, role="hides")
    assert (ran.code, ran.out, ran.err) == (0, "0\n0\n", "")


WRITING = """
import os, sys
for name in ("oom_score_adj", "coredump_filter", "autogroup", "sched", "timerslack_ns"):
    for pid in (sys.argv[1], "self"):
        try:
            open(f"/proc/{pid}/{name}").read(1)
            os.close(os.open(f"/proc/{pid}/{name}", os.O_WRONLY))
            print(name, pid == "self")
        except FileNotFoundError:
            continue
        except OSError as error:
            print(name, pid == "self", error.errno)
"""


def test_nothing_is_told_to_the_kernel_of_processes_outside(there: Guarded) -> None:
    words = [*there.person.words, "sh", "-c", "echo; cat"]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe) as outside:
        assert outside.stdout is not None
        outside.stdout.read(1)
        script = (sys.executable, "-I", "-c", WRITING, str(outside.pid))
        native = there.alone(*script).out.splitlines()
        told = there.supervised(*script, role="hides").out.splitlines()
        outside.communicate()

    assert "oom_score_adj False" in native
    expected = [each.removesuffix(" 1") for each in native]
    assert [re.sub(" (1|13)$", " refused", each) for each in told] == [
        f"{each} refused" if "False" in each else each for each in expected
    ]


CLOSING = """
import ctypes, pathlib
assert ctypes.CDLL(None).prctl(4, 0, 0, 0, 0) == 0
print(pathlib.Path("/etc/hostname").exists(), len(open("/etc/passwd").read()) > 0)
"""


def test_program_that_closes_its_memory_goes_on_opening_files(there: Guarded) -> None:
    ran = there.supervised(sys.executable, "-I", "-c", CLOSING, role="hides")
    assert (ran.out, ran.err) == ("True True\n", "")


@pytest.mark.skipif(not shutil.which("gpg"), reason="NOT TESTED: there is no gpg")
def test_keys_are_made_in_a_session(there: Guarded) -> None:
    make = "--quick-gen-key ada@example default default never"
    step = f"mkdir -m 700 gnupg && gpg --homedir gnupg --batch --passphrase '' {make}"
    ending = "gpgconf --homedir gnupg --kill all"
    show = "gpg --homedir gnupg --batch --list-secret-keys"
    ran = there.supervised("sh", "-c", f"{step}; {show}; {ending}", role="hides")
    assert "ada@example" in ran.out, ran
