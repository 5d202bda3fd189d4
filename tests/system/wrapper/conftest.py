"""Fixtures of the wrapper's tests: both kinds of it, before a scripted daemon."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from system.scripted_peer import ScriptedPeer, peer_at
from system.wrapper_programs import KINDS, Wrapper, make_wrapper, plain_environment


@pytest.fixture(scope="session", params=KINDS)
def programs(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path]:
    """The kind, and the directory with its programs."""
    kind = str(request.param)
    return kind, make_wrapper(kind, tmp_path_factory.mktemp(kind))


@pytest.fixture
def peer(tmp_path: Path) -> Iterator[ScriptedPeer]:
    """A daemon that allows everything until it is told otherwise."""
    with peer_at(tmp_path / "control.sock") as made:
        yield made


@pytest.fixture
def wrapper(programs: tuple[str, Path], peer: ScriptedPeer, tmp_path: Path) -> Wrapper:
    """The wrapper, which asks `peer`."""
    kind, directory = programs
    return Wrapper(kind, directory, plain_environment(tmp_path, peer.path))
