"""Fixtures of the wrapper's tests: it stands before a scripted daemon."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from supervised import PEOPLE
from system.hidden_ground import Ground, ground_of
from system.scripted_peer import ScriptedPeer, peer_at
from system.wrapper_programs import Wrapper, make_wrapper, plain_environment


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory with its programs."""
    return make_wrapper(tmp_path_factory.mktemp("programs"))


@pytest.fixture(scope="module", params=PEOPLE)
def grounds(request: pytest.FixtureRequest, programs: Path) -> Iterator[Ground]:
    """Where programs run with and without it, of root and of an ordinary user."""
    with ground_of(request.param, programs) as made:
        yield made


@pytest.fixture
def ground(grounds: Ground) -> Ground:
    """The same, as the test before has left it."""
    return grounds


@pytest.fixture
def peer(tmp_path: Path) -> Iterator[ScriptedPeer]:
    """A daemon that allows everything until it is told otherwise."""
    with peer_at(tmp_path / "control.sock") as made:
        yield made


@pytest.fixture
def wrapper(programs: Path, peer: ScriptedPeer, tmp_path: Path) -> Wrapper:
    """The wrapper, which asks `peer`."""
    return Wrapper(programs, plain_environment(tmp_path, peer.path))
