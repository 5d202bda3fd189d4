"""The machine's daemon reads what the caller could read, and tells nothing else."""

import os
import sys
from pathlib import Path

import pytest
from spec.redlane_home import REDLANE_SH
from system.whole_machine import (
    ALICE,
    BOB,
    DAEMON,
    Machine,
    Person,
    User,
)


def files_of(owner: User, place: Path, text: str, mode: int = 0o700) -> Path:
    place.write_text(text)
    os.chown(place, owner.uid, owner.uid)
    place.chmod(mode)
    return place


def test_scripts_are_read_with_the_rights_of_who_asks(
    whole: Machine, alice: Person, bob: Person
) -> None:
    mine = files_of(ALICE, whole.home_of(ALICE) / "mine.sh", "rm -rf /\n")
    assert "no-rm" in alice.analyze(f"bash {mine}")["reason"]
    theirs = bob.analyze(f"bash {mine}")
    assert theirs["verdict"] == "BLOCK"
    assert "Permission denied" in theirs["reason"]
    assert "no-rm" not in str(theirs)


@pytest.mark.parametrize(
    "place",
    ["var/log/redlane/guess.sh", "run/redlane/guess.sh", "etc/redlane/guess.sh"],
)
def test_daemons_own_files_are_not_told_by_verdicts(
    whole: Machine, alice: Person, place: str
) -> None:
    file = whole.path(place)
    answers = []
    for text in ("echo hunter2\n", "echo nothing\n"):
        files_of(DAEMON, file, text, 0o600)
        answer = alice.analyze(f"bash /{place}")
        answers.append((answer["verdict"], answer["policy"], answer["reason"]))
    file.unlink()
    assert answers[0] == answers[1]
    assert answers[0][0] == "BLOCK"


def test_group_of_the_daemon_opens_no_file_to_users(
    whole: Machine, alice: Person
) -> None:
    file = whole.home / "of-the-group.sh"
    answers = []
    for text in ("echo hunter2\n", "echo nothing\n"):
        files_of(DAEMON, file, text, 0o640)
        answers.append(alice.analyze(f"bash {file}")["reason"])
    assert answers[0] == answers[1]


def test_groups_of_the_caller_open_what_they_may(whole: Machine) -> None:
    file = files_of(BOB, whole.home / "shared.sh", "rm -rf /\n", 0o640)
    with whole.actor(User(ALICE.uid, (BOB.uid,))) as person:
        assert "no-rm" in person.analyze(f"bash {file}")["reason"]


def test_links_into_homes_of_others_tell_nothing(whole: Machine, alice: Person) -> None:
    link = whole.home_of(BOB) / "tool"
    answers = []
    for target in ("/usr/bin/rm", "/usr/bin/ls"):
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        answers.append(alice.analyze(f"{link} -rf x")["reason"])
    assert answers[0] == answers[1]


def test_links_of_the_caller_are_followed(whole: Machine, alice: Person) -> None:
    """A link counts by the name of what it leads to, as the caller reaches it."""
    link = whole.home_of(ALICE) / "harmless"
    link.symlink_to("/usr/bin/rm")
    assert "no-rm" in alice.analyze(f"{link} -rf x")["reason"]


@pytest.mark.parametrize(
    "path",
    [
        "/proc/self/root{place}/job.sh",
        "/proc/{pid}/root{place}/job.sh",
        "/proc/self/cwd{place}/job.sh",
        "/proc/self/environ",
        "/proc/{pid}/environ",
        "{place}/root{place}/job.sh",
        "{place}/loop",
    ],
)
def test_ways_through_proc_hide_no_script(
    whole: Machine, alice: Person, path: str
) -> None:
    """They lead the daemon elsewhere than the shell: neither judged, nor told."""
    place = whole.home_of(ALICE)
    files_of(ALICE, place / "job.sh", "rm -rf /\n")
    for name, target in (("root", "/proc/self/root"), ("loop", "loop")):
        if not (place / name).is_symlink():
            (place / name).symlink_to(target)
    named = path.format(place=place, pid=alice.pid)
    for command in (f"bash {named}", f". {named}", named):
        answer = alice.analyze(command)
        assert (answer["verdict"], answer["policy"]) == ("BLOCK", None), answer
        assert "cannot be read" in answer["reason"]


@pytest.mark.parametrize(
    "command",
    [
        "cat /dev/stdin | sh",
        "bash <(echo hi)",
        "/usr/bin/ls -l",
        "cat /etc/shadow",
        "bash /nowhere/job.sh",
        "./nothing",
        "cat /proc/cpuinfo",
    ],
)
def test_everyday_commands_are_not_blocked_for_their_files(
    alice: Person, command: str
) -> None:
    assert alice.analyze(command)["verdict"] == "ALLOW"


def test_home_is_that_of_the_caller(whole: Machine, alice: Person) -> None:
    files_of(ALICE, whole.home_of(ALICE) / "here.sh", "rm -rf /\n")
    assert "no-rm" in alice.analyze("bash ~/here.sh")["reason"]


@pytest.mark.parametrize(
    ("user", "told"),
    [(ALICE, "no-rm"), (None, "cannot be read")],
    ids=["user", "root"],
)
def test_home_that_the_environment_names_is_judged(
    whole: Machine, user: User | None, told: str
) -> None:
    place = whole.home / f"elsewhere-{user.uid if user else 0}"
    place.mkdir()
    files_of(user or User(0), place / "x.sh", "rm -rf /nowhere\n")
    env = {"HOME": str(place)}
    ran = whole.run(user, "-c", "bash ~/x.sh", program=REDLANE_SH, env=env)
    assert (ran.code, told in ran.err) == (126, True), ran


def test_script_is_the_one_that_the_callers_shell_would_run(whole: Machine) -> None:
    """What an agent mounts for itself alone is seen as it sees it, or blocked."""
    files_of(ALICE, whole.home / "job.sh", "echo harmless\n", 0o755)
    program = (
        "mount -t tmpfs tmpfs /opt && echo 'rm -rf /' > /opt/job.sh && "
        f"exec setpriv --reuid={ALICE.uid} --regid={ALICE.uid} --clear-groups "
        f"{sys.executable} {Path(__file__).with_name('process_tree.py')}"
    )
    process = whole.spawn(None, "unshare", "--mount", "sh", "-c", program)
    try:
        hidden = Person(process).analyze("bash /opt/job.sh")
    finally:
        process.kill()
        process.communicate()
    assert "no-rm" in hidden["reason"]


def test_script_of_a_process_with_its_own_user_namespace_is_blocked(
    whole: Machine,
) -> None:
    words = ["unshare", "--user", "--mount", "--map-root-user", sys.executable]
    actor = Path(__file__).with_name("process_tree.py")
    process = whole.spawn(ALICE, *words, actor)
    try:
        person = Person(process)
        answer = person.analyze("bash /opt/none.sh")
        plain = person.analyze("ls")
    finally:
        process.kill()
        process.communicate()
    assert plain["verdict"] == "ALLOW"
    assert answer["verdict"] == "BLOCK"
