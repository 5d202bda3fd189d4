"""What a person approves is what runs: nothing of it is out of sight."""

from spec.control_client import Control
from spec.redlane_home import Home
from system.calls import read_all, shell, wait_until_held
from system.conftest import daemon, home, shared  # noqa: F401  # fixtures


def held_review(control: Control) -> str:
    (review,) = control.rows("/api/reviews")
    return str(review["id"])


def test_arguments_and_directory_of_a_held_command_are_shown(shared: Home) -> None:  # noqa: F811  # the fixture
    connection = shell(shared, b'please "$@"\0x\0mv\0-f\0/im\nportant\xff', b"/tmp/\n")
    review = wait_until_held(shared)
    assert review["content"] == 'please "$@"'
    assert review["details"] == [
        "directory: /tmp/\n",
        "$0: x",
        "$1: mv",
        "$2: -f",
        "$3: /im\nportant\\xff",
    ]
    listed = shared.run("review", "list").out
    assert "(and 3 arguments: see redlane review show)" in listed
    shown = shared.run("review", "show", review["id"]).out.splitlines()
    assert "directory: /tmp/⏎" in shown
    assert "$3: /im⏎portant\\xff" in shown
    shared.run("review", "block", review["id"])
    assert b"held and blocked" in read_all(connection)
    event = shared.control.rows("/api/events?limit=1")[0]
    assert "$1: mv" in event["details"]


def test_command_without_arguments_has_its_directory_only(shared: Home) -> None:  # noqa: F811  # the fixture
    connection = shell(shared, b"please", b"/tmp")
    review = wait_until_held(shared)
    assert review["details"] == ["directory: /tmp"]
    assert "arguments" not in shared.run("review", "list").out
    shared.run("review", "block", held_review(shared.control))
    read_all(connection)
