"""A role tells where its sessions may change files: whatever does it meets the kernel.

Each attempt runs as root and as an ordinary user; each has a twin that is allowed.
"""

import json
import os
import shlex
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest
from calls_home import needs_filters
from spec.redlane_home import REDLANE
from supervised import PEOPLE, Guarded, guarded, person_named, watching

import redlane

pytestmark = needs_filters

REFUSED = "Permission denied"
ROLES = {
    "bound": ["@work", "!./kept", "./kept/free"],
    "nowhere": [],
    "wide": ["/"],
    "begun": ["./settings*"],
}


HOLDERS = {"plugin": ["watch"], "redlane-run": []}
"""Who holds a session to its places, by what policies its role has."""


@pytest.fixture(
    scope="module",
    params=list(product(PEOPLE, HOLDERS)),
    ids="-".join,
)
def there(request: pytest.FixtureRequest) -> Iterator[Guarded]:
    person, holder = request.param
    with guarded(person_named(person)) as made:
        made.home.policies(watching())
        for name, places in ROLES.items():
            made.home.role(name, *HOLDERS[holder], writable=places)
        made.start()
        yield made


@pytest.fixture
def place(there: Guarded) -> Guarded:
    """A working directory with something kept in it, and a place outside."""
    there.renew_work()
    outside = there.base / "outside"
    there.alone("sh", "-ec", f"rm -rf {outside}; mkdir -p {outside}/full kept/free d")
    text = "for f in file kept/file d/file; do echo old > $f; done"
    there.alone("sh", "-ec", f"{text}; cp file {outside}; cp file {outside}/full")
    there.alone("ln", "-s", outside, "way-out")
    return there


def python(text: str) -> list[str]:
    return [sys.executable, "-I", "-c", text]


SHELL = {
    "make": "echo new > {0}/new",
    "write": "echo new > {0}/file",
    "append": "echo new >> {0}/file",
    "truncate at open": ": > {0}/file",
    "truncate": "truncate -s 0 {0}/file",
    "remove": "rm -f {0}/file",
    "remove all": "rm -rf {0}/full",
    "make a directory": "mkdir {0}/new",
    "remove a directory": "rm {0}/full/file; rmdir {0}/full",
    "move away": "mv {0}/file moved",
    "move there": "mv file {0}/file",
    "link": "ln {0}/file second",
    "link there": "ln file {0}/second",
    "symlink there": "ln -s /etc/passwd {0}/link",
    "fifo": "mkfifo {0}/fifo",
    "socket": f"{sys.executable} -I -c 'import socket, sys;"
    " socket.socket(socket.AF_UNIX).bind(sys.argv[1])' {0}/socket",
    "copy over": "cp file {0}/file",
    "rights": "chmod 600 {0}/file",
    "times": "touch -t 200001010000 {0}/file",
    "owner": "chown $(id -u) {0}/file",
    "temporary file": "sed -i s/old/new/ {0}/file",
    "archive": "tar cf {0}/a.tar file",
    "interpreter": "perl -e 'unlink shift or die $!' {0}/file",
    "encoded": "echo cm0gLXJmICIkMSIK | base64 -d | sh -s -- {0}/full",
}


DESCRIPTORS = {
    "rights": "os.fchmod(fd, 0o600)",
    "owner": "os.fchown(fd, os.getuid(), -1)",
    "times": "os.utime(fd)",
    "attribute": "os.setxattr(fd, 'user.x', b'y')",
    "flags": "fcntl.ioctl(fd, 0x40086602, (64).to_bytes(8, 'little'))",
    "opened again": "os.open(f'/proc/self/fd/{fd}', os.O_WRONLY)",
}
WAYS = SHELL | {
    f"{name} by descriptor": f"{sys.executable} -I -c "
    + shlex.quote(f"import os, fcntl; fd = os.open('{{0}}/file', 0); {call}").replace(
        "{fd}", "{{fd}}"
    )
    for name, call in DESCRIPTORS.items()
}
DRIVER = """
import json, subprocess, sys
for name, command in json.load(sys.stdin).items():
    ran = subprocess.run(["sh", "-ec", command], capture_output=True, text=True)
    print(json.dumps([name, ran.returncode, ran.stderr]))
"""


def told(directory: Path) -> list[tuple[str, ...]]:
    """All that can be told of what lies there."""
    found = []
    for path in sorted([directory, *directory.rglob("*")]):
        about = path.lstat()
        text = path.read_text() if path.is_file() else ""
        found.append((str(path), text, f"{about.st_mode:o}", str(about.st_mtime_ns)))
        found.append((str(about.st_uid), str(about.st_nlink)))
    return found


def is_refusal(error: str) -> bool:
    """Whether it says so; what a filter refuses whole fails otherwise."""
    return REFUSED in error or "Operation not permitted" in error


@dataclass
class Tried:
    """What came of every way, and what its directory was like before."""

    top: Path
    status: dict[str, tuple[int, str]]
    before: dict[str, list[tuple[str, ...]]]

    def directory(self, way: str) -> Path:
        return self.top / way.replace(" ", "-")


def tried(there: Guarded, top: Path) -> Tried:
    """Try every way in one session, each in a directory of its own below `top`."""
    there.renew_work()
    made = Tried(top, {}, {})
    commands = {}
    for way, text in WAYS.items():
        directory, own = made.directory(way), there.work / "own" / way.replace(" ", "-")
        for each in (own, directory, directory / "full"):
            each.mkdir(parents=True)
            (each / "file").write_text("old\n")
        commands[way] = f"cd {own}; {text.format(directory)}"
    there.person.own(top)
    there.person.own(there.work)
    made.before = {way: told(made.directory(way)) for way in WAYS}
    given = json.dumps(commands)
    ran = there.supervised(
        sys.executable, "-I", "-c", DRIVER, role="bound", stdin=given, deadline=200
    )
    rows = map(json.loads, ran.out.splitlines())
    made.status = {name: (code, error) for name, code, error in rows}
    assert made.status.keys() == WAYS.keys(), ran
    return made


@pytest.fixture(scope="module")
def tried_outside(there: Guarded) -> Tried:
    return tried(there, there.base / "elsewhere")


@pytest.fixture(scope="module")
def tried_inside(there: Guarded) -> Tried:
    return tried(there, there.work / "inside")


@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_changed_outside(tried_outside: Tried, way: str) -> None:
    code, error = tried_outside.status[way]
    assert code != 0
    assert is_refusal(error)
    assert told(tried_outside.directory(way)) == tried_outside.before[way]


@pytest.mark.parametrize("way", sorted(WAYS.keys() - {"flags by descriptor"}))
def test_the_same_is_done_inside(tried_inside: Tried, way: str) -> None:
    assert tried_inside.status[way] == (0, "")


@pytest.mark.parametrize(
    "path",
    ["way-out/file", "kept/file", "kept/../kept/file", "d/../way-out/full/../file"],
)
def test_place_is_where_a_path_leads(place: Guarded, path: str) -> None:
    ran = place.supervised("sh", "-c", f"echo new > {path}", role="bound")
    assert REFUSED in ran.err, ran
    assert (place.work / path).read_text() == "old\n"


def test_longer_place_counts(place: Guarded) -> None:
    ran = place.supervised("sh", "-c", "echo new > kept/free/file", role="bound")
    assert (ran.code, ran.err) == (0, "")


def test_star_stands_for_whatever_follows(place: Guarded) -> None:
    saved = "mkdir settings.lock; echo new > settings.tmp; mv settings.tmp settings"
    text = f"{saved}; rmdir settings.lock; cat settings; echo > sets"
    ran = place.supervised("sh", "-ec", text, role="begun")
    assert (ran.out, "sets" in ran.err) == ("new\n", True)
    assert not (place.work / "sets").exists()


def test_what_is_kept_goes_with_no_directory(place: Guarded) -> None:
    place.alone("mkdir", "-p", "sub/kept")
    ran = place.supervised("mv", "kept", "away", role="bound")
    assert REFUSED in ran.err, ran
    assert (place.work / "kept" / "file").is_file()


def test_role_without_a_place_writes_nowhere(place: Guarded) -> None:
    ran = place.supervised("sh", "-c", "cat file; echo new > file", role="nowhere")
    assert ran.out == "old\n"
    assert REFUSED in ran.err, ran
    ran = place.supervised("sh", "-c", "echo to a device > /dev/null", role="nowhere")
    assert (ran.code, ran.err) == (0, ""), ran


def test_what_fails_by_itself_fails_so(place: Guarded) -> None:
    """A program that looks for what it may not make is told what is there."""
    outside = place.base / "outside"
    failing = {
        f"os.mkdir('{outside}/full')": "FileExistsError",
        f"os.unlink('{outside}/none')": "FileNotFoundError",
        f"os.rename('{outside}/none', 'x')": "FileNotFoundError",
        f"open('{outside}/none/new', 'w')": "FileNotFoundError",
        f"open('{outside}/full', 'w')": "IsADirectoryError",
        f"os.symlink('x', '{outside}/file')": "FileExistsError",
        f"socket.socket(socket.AF_UNIX).bind('{outside}/file')": "OSError",
    }
    for call, error in failing.items():
        ran = place.supervised(*python(f"import os, socket; {call}"), role="bound")
        assert f"\n{error}: " in ran.err, (call, ran)


@pytest.mark.skipif(
    Path("/proc/sys/kernel/core_pattern").read_bytes()[:1] in b"|/",
    reason="NOT TESTED: core files lie where the machine says",
)
def test_no_core_file_is_left(place: Guarded) -> None:
    outside = place.base / "outside"
    raise_it = "resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)"
    text = f"import os, resource; os.chdir({str(outside)!r}); {raise_it}; os.abort()"
    before = told(outside)
    ran = place.supervised(*python(text), role="bound")
    assert ran.code == -signal.SIGABRT, ran
    assert told(outside) == before


def test_refusal_is_an_event_with_path_and_command(place: Guarded) -> None:
    path = place.base / "outside" / "full" / "file"
    place.supervised("rm", "-f", path, role="bound")
    events = place.home.control.get("/api/events?limit=50").json["events"]
    (event,) = [each for each in events if f'"{path}"' in each["content"]]
    assert event["policy"] == "builtin:writable"
    assert event["verdict"] == "BLOCK"
    assert shlex.join(["rm", "-f", os.fspath(path)]) in event["content"]


def test_own_files_of_the_daemon_are_in_no_place(place: Guarded) -> None:
    own = place.home.user / ".redlane"
    for command in (
        f"echo > {own}/roles/bound.json",
        f"chmod 777 {own}/roles/bound.json",
        f"touch {own}/roles/bound.json",
        f"truncate -s 0 {own}/roles/bound.json",
        f"echo > {own}/policies/new.json",
        f"mkdir {own}/policies/new",
        f"ln -s /tmp/x {own}/policies/new.json",
        f"mkfifo {own}/policies/new.json",
    ):
        ran = place.supervised("sh", "-c", command, role="wide")
        assert is_refusal(ran.err), (command, ran)


def test_redlane_itself_is_in_no_place(place: Guarded) -> None:
    new = Path(redlane.__path__[0]) / "new-module.py"
    ran = place.supervised("touch", new, role="wide")
    assert ran.code != 0
    assert not new.exists()


LEADING = {
    "move the working directory": "mv $PWD /tmp/moved-$$",
    "remove it": "rm -r $PWD",
    "link in the place of an exception's directory": "rm -r kept; ln -s d kept",
    "another in the place of an exception's directory": "mv d/kept-too kept",
}


@pytest.mark.parametrize("way", LEADING)
def test_names_that_lead_to_places_stay(place: Guarded, way: str) -> None:
    place.alone("sh", "-ec", "rm -r kept/free; mkdir d/kept-too")
    ran = place.supervised("sh", "-c", LEADING[way], role="bound")
    assert ran.code != 0
    assert place.work.is_dir()
    assert (place.work / "kept" / "file").read_text() == "old\n"


def running_session(place: Guarded) -> str:
    """The one session of role `bound` that runs."""
    sessions = place.home.control.get("/api/sessions").json["sessions"]
    running = [each for each in sessions if each["state"] == "running"]
    (session,) = (each["id"] for each in running if each["role"] == "bound")
    return str(session)


def test_person_lets_a_session_write_in_one_more_place(place: Guarded) -> None:
    outside = place.base / "outside"
    step = f"read -r x; echo new > {outside}/new && echo made || echo refused"
    command = f"for i in 1 2; do echo ready; {step}; done"
    with place.running("bash", "-c", command, role="bound") as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def tried() -> str:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            process.stdin.write("\n")
            process.stdin.flush()
            return process.stdout.readline()

        assert tried() == "refused\n"
        session = running_session(place)
        way = f"{outside}/../outside"
        ran = place.home.run("session", "allow-write", way, "--session", session)
        assert ran.code == 0, ran
        assert f"below {outside} now" in ran.err
        assert tried() == "made\n"
        shown = place.home.run("session", "show", "--session", session).out
        assert f"./kept/free, {outside}" in shown


def test_nothing_in_a_session_widens_it(place: Guarded) -> None:
    step = f"read -r session; {REDLANE} session allow-write / --session $session"
    write = f"echo new > {place.base}/outside/new"
    command = f"echo ready; {step} || {write} || echo neither"
    with place.running("bash", "-c", command, role="bound") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        session = running_session(place)
        process.stdin.write(f"{session}\n")
        process.stdin.flush()
        assert process.stdout.readline() == "neither\n"


@pytest.mark.parametrize(
    ("session", "place_told", "message"),
    [
        ("default", "/", "no processes of its own"),
        ("no-such", "/", "no session"),
    ],
)
def test_widening_that_means_nothing_is_refused(
    there: Guarded, session: str, place_told: str, message: str
) -> None:
    ran = there.home.run("session", "allow-write", place_told, "--session", session)
    assert ran.code == 1
    assert message in ran.err
