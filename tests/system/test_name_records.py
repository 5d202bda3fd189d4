"""What name servers say beside addresses, to sessions that leave by the proxy alone."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from calls_home import needs_filters
from supervised import PEOPLE, Guarded, Person, guarded, person_named
from system import name_server
from system.hidden_ground import PYTHON

pytestmark = needs_filters

ASKS = """
import ctypes, sys
answer = ctypes.create_string_buffer(9000)
library = ctypes.CDLL("libresolv.so.2", use_errno=True)
length = library.res_query(sys.argv[1].encode(), 1, int(sys.argv[2]), answer, 9000)
print(answer.raw[: max(length, 0)][12:].hex())
"""
# One that can take more than 512 bytes.
WORDS = ("env", "RES_OPTIONS=edns0", PYTHON, "-I", "-c", ASKS)
MX, TXT, SRV, ANY, HTTPS = 15, 16, 33, 255, 65
ABOUT = {
    "id": "not-them",
    "type": "Regex",
    "action": "Block",
    "context": "Network",
    "pattern": "^CONNECT kept[.]test:53 ",
}


@dataclass(frozen=True)
class PersonThere(Person):
    """One whose commands run in namespaces of a process."""

    process: int = 0

    @property
    def words(self) -> list[str]:
        """They enter them first."""
        enter = ["nsenter", f"--target={self.process}", "--mount", "--net", "--wd=."]
        return [*enter, *super().words]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The process in whose network there is a name server."""
    if os.geteuid() != 0:
        pytest.skip("NOT TESTED: root makes networks")
    if shutil.which("ip") is None:
        pytest.skip("NOT TESTED: there is no `ip` to bring a network up")
    conf = tmp_path_factory.mktemp("conf") / "resolv.conf"
    words = ["unshare", "-mn", sys.executable, name_server.__file__, str(conf)]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stdout.readline() == "\n"
        yield process.pid
        process.stdin.close()


@pytest.fixture(scope="module", params=PEOPLE)
def there(request: pytest.FixtureRequest, served: int) -> Iterator[Guarded]:
    uid = person_named(request.param).uid
    with guarded(PersonThere(uid, process=served)) as made:
        made.home.policies(ABOUT, file="network.json")
        made.home.role("led", "not-them", egress="proxy")
        made.start()
        yield made


def asked(there: Guarded, name: str, kind: int) -> bytes:
    """What a program hears of a name: the question, and what answers it."""
    ran = there.supervised(*WORDS, name, str(kind), role="led")
    assert ran.code == 0, ran
    return bytes.fromhex(ran.out)


@pytest.mark.parametrize(
    ("name", "kind", "holds"),
    [
        ("Mail.test", MX, b"\2mx\xc0\x0c"),
        ("_db._tcp.mail.test", SRV, b"\2db\4mail\4test\0"),
        ("mail.test", TXT, b"\5hello"),
        ("long.test", TXT, b"\xfa" + b"d" * 250),
    ],
)
def test_records_without_addresses_are_as_without_redlane(
    there: Guarded, name: str, kind: int, holds: bytes
) -> None:
    alone = there.alone(*WORDS, name, str(kind))
    found = asked(there, name, kind)
    assert bytes.fromhex(alone.out).startswith(found)  # behind it there are options
    assert holds in found


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("nowhere.test", MX),
        ("kept.test", MX),
        ("sly.test", TXT),
        ("odd.test", TXT),
        ("broken.test", TXT),
        ("mail.test", ANY),
        ("mail.test", HTTPS),
    ],
)
def test_nothing_is_told(there: Guarded, name: str, kind: int) -> None:
    assert asked(there, name, kind) == b""


def test_name_server_hears_of_what_passes_alone(there: Guarded) -> None:
    asked(there, "kept.test", TXT)
    asked(there, "mail.test", TXT)
    events = there.home.control.rows("/api/events")
    lines = {each["content"] for each in events if ":53 " in each["content"]}
    assert "CONNECT mail.test:53 HTTP/1.1\n\n" in lines
    assert not any("kept.test" in each for each in lines)
