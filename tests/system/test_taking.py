"""Where no process may take another's open files, as in containers: what goes on."""

from collections.abc import Iterator

import pytest
from calls_home import needs_filters
from spec.redlane_home import Ran
from supervised import PEOPLE, Guarded, guarded, person_named
from system import own_filter
from system.hidden_ground import PYTHON

pytestmark = needs_filters

SAYS = "import socket; s = socket.create_server(('127.0.0.1', 0)); print('bound')"
ROLES = {
    "free": {},
    "hiding": {"hidden": ["@keys"]},
    "led": {"egress": "proxy"},
}


@pytest.fixture(scope="module", params=PEOPLE)
def there(request: pytest.FixtureRequest) -> Iterator[Guarded]:
    with guarded(person_named(request.param)) as made:
        for name, fields in ROLES.items():
            made.home.role(name, **fields)
        made.start()
        yield made


def refused_ran(
    there: Guarded, role: str, *command: str, call: str = "pidfd_getfd"
) -> Ran:
    """What came of a command where a system call fails with EPERM."""
    refusing = (PYTHON, "-I", own_filter.__file__, f"{call}=1", "exec")
    words = there.command(*command, role=role)[len(there.person.words) :]
    return there.alone(*refusing, *words, env=there.home.env)


@pytest.mark.parametrize("call", ["pidfd_getfd", "pidfd_open"])
@pytest.mark.parametrize(
    ("role", "says"),
    [
        ("hiding", "role 'hiding' hides files from its sessions"),
        ("led", "role 'led' leads connections of its sessions"),
    ],
)
def test_role_that_needs_them_starts_no_session(
    there: Guarded, role: str, says: str, call: str
) -> None:
    ran = refused_ran(there, role, "true", call=call)
    assert (ran.code, ran.out) == (1, "")
    assert f"{says}: that needs pidfd_getfd" in ran.refusal
    assert "--cap-add=SYS_PTRACE" in ran.refusal


def test_another_starts_and_says_what_fails(there: Guarded) -> None:
    ran = refused_ran(there, "free", "sh", "-c", "echo ran")
    assert (ran.code, ran.out) == (0, "ran\n")
    assert ran.err.startswith("redlane: no socket gets an address here (bind)")
    assert ran.err.count("\n") == 1

    bound = refused_ran(there, "free", PYTHON, "-c", SAYS)
    assert "Operation not permitted" in bound.err
    assert there.supervised(PYTHON, "-c", SAYS, role="free").out == "bound\n"
