"""A command of which calls were refused is told so at its end, on its standard error.

The agent is a program that runs commands as agents do; it is held by the real context.
"""

import json
import shlex
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from calls_home import needs_filters
from supervised import ONE_OF_PEOPLE, Guarded, guarded, person_named

pytestmark = needs_filters

HIDDEN = {
    "id": "hidden",
    "type": "Regex",
    "context": "Syscall",
    "action": "Block",
    "syscall": ["open", "openat"],
    "pattern": "/secret[^/]*$",
    "reason": "secrets are not for agents",
}
MORE = {**HIDDEN, "id": "odd", "pattern": "/odd", "reason": "that is odd"}
DEADLY = {**HIDDEN, "id": "deadly", "pattern": "/deadly", "kill": True}
BEGIN = """
import fcntl, json, os, pty, select, signal, socket, subprocess, sys

def run(command, **more):
    ran = subprocess.run(["/bin/sh", "-c", command], text=True, timeout=60, **more)
    return ran.returncode, ran.stdout, ran.stderr

def captured(command):
    return run(command, capture_output=True)

def told(data):
    return [line for line in data.splitlines() if line.startswith("redlane: ")]

def show(value):
    print(json.dumps(value), flush=True)
"""
SECRET = (
    "redlane: refused 1 call of this command: openat {}/secret (hidden): "
    "secrets are not for agents"
)


@pytest.fixture(scope="module", params=ONE_OF_PEOPLE)
def there(request: pytest.FixtureRequest) -> Iterator[Guarded]:
    with guarded(person_named(request.param)) as made:
        made.home.policies(HIDDEN, MORE, DEADLY, file="more.json")
        made.home.role("hides", "hidden", "odd", "deadly")
        for name in ("secret", "odd", "deadly", "plain"):
            (made.work / name).write_text(f"{name}\n")
        made.start()
        yield made


def agent(there: Guarded, text: str, error: str = "") -> Any:
    """What an agent shows that does this, with nothing else said."""
    words = (sys.executable, "-I", "-c", BEGIN + text)
    ran = there.supervised(*words, role="hides")
    assert (ran.code, ran.err) == (0, error), ran
    return json.loads(ran.out)


def secret(there: Guarded) -> str:
    return SECRET.format(there.work)


def test_command_is_told_with_what_it_says_itself(there: Guarded) -> None:
    code, out, error = agent(there, "show(captured('cat secret; cat plain'))")
    assert (code, out) == (0, "plain\n")
    first, *others = error.splitlines()
    assert first.endswith("secret: Operation not permitted")
    assert others == [secret(there)]


def test_each_rule_has_one_line(there: Guarded) -> None:
    command = "for each in secret secret odd; do cat $each; done"
    lines = agent(there, f"show(told(captured('{command}')[2]))")
    assert len(lines) == 2
    assert "refused 2 calls of this command" in lines[0]
    assert "(odd): that is odd" in lines[1]


def test_command_without_refusals_is_told_nothing(there: Guarded) -> None:
    assert agent(there, "show(captured('cat plain'))") == [0, "plain\n", ""]


def test_agents_own_calls_are_told_nowhere(there: Guarded) -> None:
    text = """
try:
    open("secret")
except PermissionError:
    show(captured("cat plain"))
"""
    assert agent(there, text) == [0, "plain\n", ""]


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("cat secret 2>/dev/null; true", id="hidden complaints"),
        pytest.param("(cat secret) 2>&-; true", id="closed further down"),
        pytest.param("exec cat secret", id="by exec"),
        pytest.param("sh -c 'sh -c \\'cat secret\\'; true'", id="of a grandchild"),
        pytest.param("cat secret; kill -9 $$", id="killed"),
        pytest.param("setsid -w cat secret", id="in a session of its own"),
        pytest.param("x=$(cat secret); echo $x", id="in a substitution"),
    ],
)
def test_it_is_the_command_that_is_told(there: Guarded, command: str) -> None:
    text = f'show(told(captured("{command}")[2]))'.replace("\\'", '\\"')
    assert agent(there, text) == [secret(there)]


def test_what_is_killed_for_a_call_is_told_why(there: Guarded) -> None:
    lines = agent(there, "show(told(captured('exec cat deadly')[2]))")
    assert len(lines) == 1
    assert "(deadly)" in lines[0]


def test_shell_is_told_that_is_the_sessions_own_program(there: Guarded) -> None:
    words = ("run", "--role", "hides", "--", "/bin/sh", "-c", "read x <secret; cat odd")
    ran = there.alone("sh", "-c", 'exec "$@"', "sh", *_redlane(there, *words))
    lines = [e for e in ran.err.splitlines() if e.startswith("redlane: refused")]
    assert len(lines) == 2, ran


def _redlane(there: Guarded, *words: str) -> list[str]:
    environment = [f"{name}={value}" for name, value in there.home.env.items()]
    return ["env", "-i", *environment, str(sys.executable), "-m", "redlane", *words]


def test_helper_that_writes_where_the_agent_does_is_no_command_of_its_own(
    there: Guarded,
) -> None:
    """The agent of an agent's launcher: its commands are told, each at its end."""
    inner = BEGIN + "show([told(captured('cat secret')[2]) for _ in range(2)])"
    text = f"subprocess.run([sys.executable, '-I', '-c', {inner!r}])"
    assert agent(there, text) == [[secret(there)]] * 2


def test_nothing_is_said_on_an_agents_terminal(there: Guarded) -> None:
    inner = BEGIN + "run('cat secret; cat plain')"
    command = there.command(sys.executable, "-I", "-c", inner, role="hides")
    typed = shlex.join(command[len(there.person.words) :])
    ran = there.alone("script", "-qec", typed, "/dev/null", env=there.home.env)
    assert "Operation not permitted" in ran.out, ran
    assert "plain" in ran.out
    assert "redlane: refused" not in ran.out


def test_reader_comes_to_the_end_once_the_command_lets_go(there: Guarded) -> None:
    text = """
words = ["/bin/sh", "-c", "cat secret; exec 2>&- >/dev/null; read x; echo $x >&0"]
ours, theirs = socket.socketpair()
process = subprocess.Popen(words, stdin=theirs, stderr=subprocess.PIPE, text=True)
error = process.stderr.read()
is_running = process.poll() is None
ours.send(b"on\\n")
show([told(error), is_running, ours.recv(9).decode(), process.wait()])
"""
    assert agent(there, text) == [[secret(there)], True, "on\n", 0]


def test_full_pipe_stalls_nobody(there: Guarded) -> None:
    text = """
ours, theirs = os.pipe()
fcntl.fcntl(theirs, fcntl.F_SETPIPE_SZ, 4096)
os.set_blocking(theirs, False)
os.write(theirs, bytes(4096))
os.set_blocking(theirs, True)
stuck = [run("cat secret 2>/dev/null; true", stderr=theirs)[0] for _ in range(20)]
flags = fcntl.fcntl(theirs, fcntl.F_GETFL) & os.O_NONBLOCK
show([stuck, flags, told(captured("cat secret")[2])])
"""
    assert agent(there, text) == [[0] * 20, 0, [secret(there)]]


def test_slow_reader_gets_all_of_it(there: Guarded) -> None:
    text = """
ours, theirs = os.pipe()
fcntl.fcntl(theirs, fcntl.F_SETPIPE_SZ, 4096)
command = "cat secret 2>/dev/null; head -c 4096 /dev/zero >&2"
process = subprocess.Popen(["/bin/sh", "-c", command], stderr=theirs)
os.close(theirs)
process.wait()
data = b""
while piece := os.read(ours, 100):
    data += piece
show([len(data) > 4096, told(data.decode().replace(chr(0), ""))])
"""
    assert agent(there, text) == [True, [secret(there)]]


PLACES = {
    "closed": ("cat secret 2>/dev/null; true", "None"),
    "only to be read": (
        "cat secret 2>/dev/null; true",
        "os.open('plain', os.O_RDONLY)",
    ),
    "a device": (
        "cat secret 2>/dev/null; true",
        "os.open('/dev/null', os.O_WRONLY)",
    ),
    "a datagram socket": (
        "cat secret 2>/dev/null; true",
        "socket.socketpair(type=socket.SOCK_DGRAM)[0].detach()",
    ),
    "a pipe nobody reads": ("cat secret 2>/dev/null; true", "broken()"),
    "an event counter": ("cat secret 2>/dev/null; true", "os.eventfd(0)"),
    "its own name": (
        "cat secret 2>/dev/null; true",
        "os.open('/proc/self/comm', os.O_WRONLY)",
    ),
}


@pytest.mark.parametrize(("command", "place"), PLACES.values(), ids=PLACES)
def test_who_cannot_be_told_goes_without(
    there: Guarded, command: str, place: str
) -> None:
    text = f"""
def broken():
    ours, theirs = os.pipe()
    os.close(ours)
    return theirs

place = {place}
if place is None:
    ran = subprocess.run(["/bin/sh", "-c", {command!r} + "; exit 1"],
                         preexec_fn=lambda: os.close(2))
else:
    ran = subprocess.run(["/bin/sh", "-c", {command!r} + "; exit 1"], stderr=place)
show([ran.returncode, told(captured("cat secret")[2])])
"""
    assert agent(there, text) == [1, [secret(there)]]


def test_file_is_written_behind_what_stands_there(there: Guarded) -> None:
    text = """
with open("log", "w") as log:
    log.write("begin\\n")
    log.flush()
    run("cat secret 2>/dev/null; echo said >&2", stderr=log)
show(True)
"""
    assert agent(there, text)
    lines = (there.work / "log").read_text().splitlines()
    assert lines == ["begin", "said", secret(there)]


def test_stream_between_processes_is_written_to(there: Guarded) -> None:
    text = """
ours, theirs = socket.socketpair()
run("cat secret 2>/dev/null; true", stderr=theirs)
theirs.close()
data = b""
while piece := ours.recv(4096):
    data += piece
show(told(data.decode()))
"""
    assert agent(there, text) == [secret(there)]


def test_many_commands_at_once_end_all_of_them(there: Guarded) -> None:
    text = """
words = ["/bin/sh", "-c", "cat secret 2>/dev/null; read x"]
given = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
begun = [subprocess.Popen(words, **given) for _ in range(70)]
lines = [told(each.communicate("x\\n")[1]) for each in begun]
show([len([each for each in lines if each]), captured("cat plain")])
"""
    count, after = agent(there, text)
    assert 0 < count <= 70
    assert after == [0, "plain\n", ""]


def test_what_still_runs_at_the_end_of_the_session_is_told(there: Guarded) -> None:
    text = """
log = open("log", "w")
words = ["/bin/sh", "-c", "cat secret 2>/dev/null; echo on; exec sleep 1000"]
process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log)
process.stdout.readline()
show(True)
"""
    assert agent(there, text)
    assert (there.work / "log").read_text().splitlines() == [secret(there)]


def test_refused_calls_are_counted(there: Guarded) -> None:
    command = "for each in secret secret odd; do cat $each; done"
    agent(there, f"show(captured('{command}'))")
    last = there.home.control.rows("/api/events?context=Syscall&limit=1")[0]["session"]
    rows = there.home.control.get(f"/api/sessions/{last}").json["refused_calls"]
    assert [(each["count"], each["policy"]) for each in rows] == [
        (2, "hidden"),
        (1, "odd"),
    ]
