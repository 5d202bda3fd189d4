"""What an agent may try to reach a file whose path is blocked: every road is closed.

Each road of `roads/` was seen to lead to the file where nothing guards it.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

import pytest
from attack.call_attacks import SECRET, guarded_secret, taken
from supervised import MANY_RACES, PEOPLE, Guarded, compiled, person_named

FLIPPING = Path(__file__).with_name("flipping.c")
INTERRUPT = Path(__file__).with_name("interrupt.c")


@pytest.fixture(scope="module", params=PEOPLE)
def place(request: pytest.FixtureRequest) -> Iterator[Guarded]:
    with guarded_secret(person_named(request.param)) as made:
        yield made


def _is_whole(place: Guarded) -> bool:
    return (place.work / SECRET).read_text() == "what nobody may read"


def test_no_road_leads_to_a_blocked_file(place: Guarded) -> None:
    found = taken(place, "read")

    assert len(found) > 50
    refused = ("EPERM", "ENOSYS", "EACCES", "ELOOP", "ENOENT", "ESTALE", "EXDEV")
    assert {name: end for name, end in found.items() if end not in refused} == {}
    assert _is_whole(place)


def test_no_road_harms_a_blocked_file(place: Guarded) -> None:
    found = taken(place, "harm")

    assert set(found.values()) == {"EPERM"}, found
    assert _is_whole(place)


ABSENT = ("openat2", "io-uring-setup", "clone3")


def test_calls_that_lead_around_are_refused(place: Guarded) -> None:
    found = taken(place, "closed")

    expected = dict.fromkeys(found, "EPERM") | dict.fromkeys(ABSENT, "ENOSYS")
    assert found == {**expected, "nested-listener": "EBUSY"}


@pytest.mark.parametrize("group", ["signal", "memory"])
def test_supervisors_cannot_be_reached(place: Guarded, group: str) -> None:
    found = taken(place, group)

    assert set(found.values()) == {"EPERM"}, found
    assert taken(place, "harm")


@pytest.mark.parametrize("kind", ["int80", "x32"])
def test_another_entry_into_the_kernel_is_death(place: Guarded, kind: str) -> None:
    program = compiled(INTERRUPT, place.base / kind)

    ran = place.supervised(program, kind, place.work / SECRET, role="guarded")

    assert "what nobody" not in ran.out
    assert ran.code != 0


@dataclass(frozen=True)
class Flips:
    """How often the secret was read, the benign file, a refusal, and a failure."""

    secret: int
    benign: int
    refused: int
    failed: int


@pytest.fixture
def flip(place: Guarded, flipping: Path) -> Callable[..., Flips]:
    """Runs the racer on the secret and on a benign file; the link leads to either."""
    benign = place.work / "deep" / "vaulX"
    benign.mkdir(exist_ok=True)
    (benign / "secret").write_text("benign")
    place.person.own(benign)
    program = place.base / "flipping"
    program.write_bytes(flipping.read_bytes())
    program.chmod(0o755)

    def run(way: str, rounds: int, *more: str, path: Path | None = None) -> Flips:
        files = [path or benign / "secret", place.work / SECRET]
        words = [program, way, str(rounds), *files, *more]
        ran = place.supervised(*words, role="guarded", deadline=1700)
        assert ran.code == 0, ran
        return Flips(*map(int, ran.out.split()))

    return run


@pytest.fixture(scope="module")
def flipping(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(FLIPPING, tmp_path_factory.mktemp("flipping") / "flipping")


ROUNDS = [
    5_000,
    pytest.param(MANY_RACES, marks=[pytest.mark.soak, pytest.mark.timeout(1800)]),
]


@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize("way", ["bytes", "directory", "working"])
def test_what_is_judged_is_what_is_opened(
    flip: Callable[..., Flips], way: str, rounds: int
) -> None:
    found = flip(way, rounds)

    assert found.secret == 0, found
    assert found.failed == 0, found
    assert found.benign > 0, found
    assert found.refused > 0, found


@contextmanager
def _link_that_flips(link: Path, *targets: Path) -> Iterator[None]:
    """Somebody outside, who no policy holds, keeps changing where a link leads."""
    ended = threading.Event()

    def flip() -> None:
        spare = link.with_name("spare")
        for target in cycle(targets):
            spare.symlink_to(target)
            spare.replace(link)
            if ended.is_set():
                return

    thread = threading.Thread(target=flip)
    link.unlink(missing_ok=True)
    link.symlink_to(targets[0])
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@pytest.mark.parametrize("kind", ["file", "directory"])
def test_link_that_flips_leads_to_what_was_judged(
    place: Guarded, flip: Callable[..., Flips], kind: str
) -> None:
    vault, benign = place.work / "deep" / "vault", place.work / "deep" / "vaulX"
    link = place.work / "links" / "flips"
    names = ("secret",) if kind == "file" else ()
    targets = (vault.joinpath(*names), benign.joinpath(*names))

    with _link_that_flips(link, *targets):
        found = flip("none", 10_000, path=link if names else link / "secret")

    assert found.secret == 0, found
    assert found.failed == 0, found
    assert min(found.benign, found.refused) > 0, found


@pytest.mark.parametrize("rounds", [1_000, pytest.param(5_000, marks=pytest.mark.slow)])
def test_what_is_judged_is_what_is_removed(
    place: Guarded, flip: Callable[..., Flips], rounds: int
) -> None:
    found = flip("bytes", rounds, "unlink")

    assert _is_whole(place)
    assert min(found.benign, found.refused) > 0, found
