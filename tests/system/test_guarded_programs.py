"""A program that is no shell is judged by its command line, whoever starts it.

The session's own command is the person's, who typed it; a text's commands were judged
with the text. Each way is tried with a command that a policy blocks and with its benign
twin, in both kinds of sessions.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from calls_home import needs_filters
from spec.redlane_home import Home, Ran, wait_for
from system.forked_starts import FORKED_WAYS
from system.sandboxed_home import made_home

from redlane.contexts.shell.running.programs import program

pytestmark = needs_filters

ROLES = ("plain", "calls")
REASON = "redlane: blocked: policy 'no-word' blocks this"
RUN = "import subprocess as s, sys; sys.exit(s.run({}).returncode)"
MAKEFILE = "all:\n\t@/bin/echo $(WORD)\n"
LOADER = next(map(str, Path("/lib64").glob("ld-linux-*")), "")
ORPHAN = """\
import os, sys, time
ends, kept = os.pipe()
if os.fork():
    os.close(kept)
    os.read(ends, 1)
    sys.exit(126)
os.set_inheritable(kept, True)
parent = os.getpid()
if os.fork():
    os._exit(0)
while os.getppid() == parent:
    time.sleep(0.01)
os.execv("/bin/echo", ["echo", sys.argv[1]])
"""
WAYS = {
    **FORKED_WAYS,
    "path": RUN.format("['/bin/echo', sys.argv[1]]"),
    "name": RUN.format("['echo', sys.argv[1]]"),
    "another name": RUN.format("['innocent', sys.argv[1]], executable='/bin/echo'"),
    "no name": RUN.format("['', sys.argv[1]], executable='/bin/echo'"),
    "a word of many": RUN.format("['/bin/echo', *'abc', sys.argv[1]]"),
    "exec": "import os, sys; os.execv('/bin/echo', ['echo', sys.argv[1]])",
    "descriptor": "import os, sys; "
    "os.execve(os.open('/bin/echo', 0), ['echo', sys.argv[1]], os.environ)",
    "thread": "import os, sys, threading, time; threading.Thread(target=os.execv, "
    "args=('/bin/echo', ['echo', sys.argv[1]])).start(); time.sleep(30)",
    "orphan": ORPHAN,
    "env": RUN.format("['env', 'A=b', 'echo', sys.argv[1]]"),
    "xargs": RUN.format("['xargs', '-n1', 'echo'], input=sys.argv[1].encode()"),
    "find": "import subprocess as s, sys; done = s.run(['find', '/dev/null', '-exec', "
    "'echo', sys.argv[1], ';']); sys.exit(126)",
    "loader": RUN.format(f"[{LOADER!r}, '/bin/bash', '-c', 'echo ' + sys.argv[1]]"),
    "busybox": RUN.format("['busybox', 'echo', sys.argv[1]]"),
}
OPEN = {
    "a variable": 'w=$(cat word)\n/bin/echo "$w"',
    "a substitution": '/bin/echo "$(cat word)"',
    "a fork": 'w=$(cat word)\n( : ; /bin/echo "$w" )',
    "a pipeline": 'w=$(cat word)\n: | /bin/echo "$w" | cat',
    "a function": 'f() { /bin/echo "$1"; }\nf "$(cat word)"',
    "a command": 'c=$(printf %s /bin/echo | tail -n 1)\n"$c" "$(cat word)"',
    "generated text": "eval \"$(sed 's,^,/bin/echo ,' word)\"",
    "another shell": 'w=$(cat word)\nsh -c \'/bin/echo "$1"\' sh "$w"',
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    made = made_home(tmp_path_factory.mktemp("h"))
    yield made
    made.stop()


def by_python(home: Home, role: str, code: str, *words: str) -> Ran:
    command = ("run", "--role", role, "--", sys.executable, "-c", code, *words)
    return home.run(*command, env={"PATH": os.environ["PATH"]})


def decided(home: Home, action: str, role: str, code: str, *words: str) -> Ran:
    """The same, and what it is asked for is decided once."""
    with ThreadPoolExecutor(1) as side:
        running = side.submit(by_python, home, role, code, *words)
        held: list[str] = []

        def is_held() -> bool:
            reviews = home.control.get("/api/reviews?state=pending").json["reviews"]
            held.extend(each["id"] for each in reviews)
            return bool(held) or running.done()

        wait_for(is_held)
        home.run("review", action, *held[:1])
        return running.result()


def contents(home: Home) -> list[str]:
    events = home.control.get("/api/events?limit=5").json["events"]
    return [each["content"] for each in events]


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("way", WAYS)
def test_command_line_is_judged(home: Home, role: str, way: str) -> None:
    needed = {"busybox": shutil.which("busybox"), "loader": LOADER}
    if not needed.get(way, True):
        pytest.skip(f"NOT TESTED: no {way} here")

    refused = by_python(home, role, WAYS[way], "forbidden-word")
    fine = by_python(home, role, WAYS[way], "fine-word")

    assert REASON in refused.err, refused
    assert "forbidden-word" not in refused.out
    assert refused.code in (126, 123), refused  # 123: xargs says so
    assert "fine-word" in fine.out, fine
    assert "redlane" not in fine.err, fine


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("text", OPEN.values(), ids=OPEN)
def test_what_a_script_works_out_is_judged_where_it_runs(
    home: Home, role: str, tmp_path: Path, text: str
) -> None:
    (tmp_path / "s.sh").write_text(f"cd {tmp_path}\n{text}\n")
    code = RUN.format(f"['sh', '{tmp_path}/s.sh']")

    (tmp_path / "word").write_text("forbidden-word")
    refused = by_python(home, role, code)
    (tmp_path / "word").write_text("fine-word")
    fine = by_python(home, role, code)

    assert REASON in refused.err, refused
    assert "forbidden-word" not in refused.out
    assert "fine-word" in fine.out, fine
    assert "redlane" not in fine.err, fine


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("text", OPEN.values(), ids=OPEN)
def test_what_a_typed_text_works_out_is_judged_where_it_runs(
    home: Home, role: str, tmp_path: Path, text: str
) -> None:
    code = RUN.format(f"['bash', '-c', {text!r}], cwd={str(tmp_path)!r}")

    # A directory is known only when there is one: there the word is another.
    (tmp_path / "word").symlink_to("second")
    (tmp_path / "second").write_text("forbidden-word")
    refused = by_python(home, role, code)
    (tmp_path / "second").write_text("fine-word")
    fine = by_python(home, role, code)

    assert REASON in refused.err, refused
    assert "forbidden-word" not in refused.out
    assert "fine-word" in fine.out, fine
    assert "redlane" not in fine.err, fine


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("form", ["typed", "script"])
def test_what_an_allowed_text_works_out_is_allowed(
    home: Home, role: str, form: str, tmp_path: Path
) -> None:
    (tmp_path / "word").write_text("forbidden-word")
    text = 'cd .; /bin/echo "$(cat word)"'
    (tmp_path / "s.sh").write_text(text)
    words = ["bash", "-c", f"{text}; : let-me"]
    if form == "script":
        words = ["bash", "s.sh", "let-me"]

    done = by_python(home, role, RUN.format(f"{words!r}, cwd={str(tmp_path)!r}"))

    assert (done.code, done.out) == (0, "forbidden-word\n"), done


LOOKING = ": > runs; until [ -e go ]; do :; done"
EXCHANGING = f"""\
import os, pathlib, subprocess, sys
script, runs, go = map(pathlib.Path, ("s.sh", "runs", "go"))
beginning = "{LOOKING}\\n#" + "x" * 20000 + "\\n/bin/echo "
script.write_text(beginning + "as it was")
with subprocess.Popen(sys.argv[2:]) as shell:
    while not runs.exists() and shell.poll() is None:
        os.sched_yield()  # it has read the beginning, and not the end
    script.write_text(beginning + sys.argv[1])
    go.touch()
runs.unlink(), go.unlink()
sys.exit(shell.returncode)
"""


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(
    "words", [("bash", "s.sh"), ("bash", "-c", f"{LOOKING}; . ./s.sh")]
)
def test_what_an_exchanged_script_starts_is_judged(
    home: Home, role: str, words: tuple[str, ...], tmp_path: Path
) -> None:
    code = f"import os; os.chdir({str(tmp_path)!r})\n{EXCHANGING}"

    refused = by_python(home, role, code, "forbidden-word", *words)
    fine = by_python(home, role, code, "fine-word", *words)

    assert REASON in refused.err, refused
    assert (fine.code, fine.out, fine.err) == (0, "fine-word\n", ""), fine


@pytest.mark.parametrize("role", ROLES)
def test_recipe_that_needs_no_shell_is_judged(
    home: Home, role: str, tmp_path: Path
) -> None:
    makefile = tmp_path / "makefile"
    makefile.write_text(MAKEFILE)
    code = RUN.format(f"['make', '-f', {str(makefile)!r}]")
    set_word = f"import os, sys; os.environ['WORD'] = sys.argv[1]; {code}"

    refused = by_python(home, role, set_word, "forbidden-word")

    assert REASON in refused.err, refused
    assert "fine-word" in by_python(home, role, set_word, "fine-word").out


@pytest.mark.parametrize("role", ROLES)
def test_recipe_that_is_too_much_to_read_strictly_is_read_as_a_script(
    home: Home, role: str, tmp_path: Path
) -> None:
    many = " ".join(map(str, range(20)))
    text = f'for a in {many}; do for b in {many}; do c="$a $b"; done; done; '
    text += '/bin/echo "$c $(cat word)"'
    (tmp_path / "makefile").write_text("all:\n\t@" + text.replace("$", "$$") + "\n")
    typed = RUN.format(f"['bash', '-c', {text!r}], cwd={str(tmp_path)!r}")
    made = RUN.format(f"['bash', '-c', 'make -s'], cwd={str(tmp_path)!r}")
    (tmp_path / "word").write_text("fine-word")

    as_typed = by_python(home, role, typed)
    fine = by_python(home, role, made)
    (tmp_path / "word").write_text("forbidden-word")
    refused = by_python(home, role, made)

    assert "cannot be judged" in as_typed.err, as_typed
    assert fine.out == "19 19 fine-word\n", fine
    assert REASON in refused.err, refused
    assert refused.out == ""


@pytest.mark.parametrize("role", ROLES)
def test_what_a_judged_text_hides_is_judged_where_another_program_starts_it(
    home: Home, role: str, tmp_path: Path
) -> None:
    word = tmp_path / "word"
    word.write_text("forbidden-word\n")
    text = f'read -r word <{word}; env echo "$word"'
    done = by_python(home, role, RUN.format(f"['bash', '-c', {text!r}]"))

    assert REASON in done.err, done
    assert done.out == ""


def test_both_are_judged_what_it_is_called_and_what_it_is(home: Home) -> None:
    by_python(home, "plain", WAYS["another name"], "forbidden-word")

    called = Path("/bin/echo").resolve()
    assert f"{called} forbidden-word\ninnocent forbidden-word" in contents(home)


@pytest.mark.parametrize("role", ROLES)
def test_rewritten_command_line_is_what_runs(home: Home, role: str) -> None:
    done = by_python(home, role, WAYS["path"], "beer")

    assert (done.code, done.out) == (0, "tea\n"), done


@pytest.mark.parametrize("role", ROLES)
def test_held_program_runs_as_it_was_started(home: Home, role: str) -> None:
    """Its name, arguments, input, directory, files and status."""
    inner = "import os, sys; print(sys.argv, os.getcwd(), os.environ['A'], input(), "
    inner += "sorted(os.listdir('/proc/self/fd'))); sys.exit(7)"
    words = f"['python3', '-Ic', {inner!r}, 'please-ask']"
    more = "executable=sys.executable, input=b'in\\n', cwd='/', env={'A': 'b'}"
    direct = [sys.executable, "-c", RUN.format(f"{words}, {more}")]
    alone = subprocess.run(direct, capture_output=True, text=True, check=False)

    done = decided(home, "allow", role, RUN.format(f"{words}, {more}"))

    assert (done.code, done.out) == (7, alone.stdout), done
    assert "held for review" in done.err


def test_held_program_that_is_blocked_does_not_run(home: Home) -> None:
    done = decided(home, "block", "plain", WAYS["path"], "please-ask")

    assert (done.code, done.out) == (126, ""), done


@pytest.mark.parametrize("role", ROLES)
def test_what_a_text_starts_was_asked_with_it(home: Home, role: str) -> None:
    """Who has allowed the text is not asked again for each of its commands."""
    text = "/bin/echo please-ask; (/bin/echo please-ask); x=$(/bin/echo please-ask)"
    code = RUN.format(f"['bash', '-c', {text!r}]")

    done = decided(home, "allow", role, code)

    assert (done.code, done.out) == (0, "please-ask\n" * 2), done


WRITES = """
import os, subprocess, sys
shell = subprocess.Popen(["/bin/bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
shell.stdin.write(b"echo $$; kill -STOP $$\\n")
shell.stdin.flush() if sys.argv[1] == "stream" else shell.stdin.close()
runs = int(shell.stdout.readline())
try:
    os.write(os.open(f"/proc/{runs}/fd/0", os.O_WRONLY), b"echo more\\n" * 9)
    print("written")
except OSError:
    print("refused")
os.kill(runs, 9)
"""


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("form", ["stream", "whole"])
def test_nobody_writes_to_what_a_shell_reads(home: Home, role: str, form: str) -> None:
    done = by_python(home, role, WRITES, form)

    assert done.out == "refused\n", done


@pytest.mark.parametrize("role", ROLES)
def test_login_shell_by_its_first_letter_runs_no_profile_unjudged(
    home: Home, role: str, tmp_path: Path
) -> None:
    (tmp_path / ".bash_profile").write_text("echo a forbidden-word")
    words = (["-x/bash", "-c", "true"], {"HOME": str(tmp_path)})

    done = by_python(home, role, f"import os; os.execve('/bin/bash', *{words!r})")

    assert REASON in done.err, done
    assert done.out == ""


@pytest.mark.parametrize("role", ROLES)
def test_forged_question_gives_no_shell(home: Home, role: str, tmp_path: Path) -> None:
    """The guarded shell that asks for a program is trusted with no shell."""
    script = tmp_path / "script"
    script.write_text("echo a forbidden-word\n")
    guarded = str(program("redlane-sh"))
    code = "import os, sys; os.dup2(os.open('/bin/bash', 0), 5, inheritable=True); "
    code += f"os.execv({guarded!r}, ['program-5-bash', *sys.argv[1:]])"

    for words in (["-c", "echo forbidden-word"], [str(script)]):
        done = by_python(home, role, code, *words)
        assert REASON in done.err, done
        assert done.out == ""


def test_without_a_daemon_no_program_starts(tmp_path: Path) -> None:
    lost = Home(tmp_path)
    lost.policies({"id": "p", "type": "Simple", "pattern": "x", "action": "Block"})
    lost.role("plain", "p")
    lost.start("--role", "plain")
    code = "import os, subprocess, sys; print('ready', flush=True); "
    code += "os.read(0, 1); sys.exit(subprocess.run(['/bin/echo', 'said']).returncode)"
    words = ("run", "--role", "plain", "--", sys.executable, "-c", code)
    with lost.spawn(*words, stdin=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        lost.stop()
        out, err = process.communicate("\n")

    assert (process.returncode, out) == (126, ""), err
    assert "not run" in err
