"""What a session's role has said of places binds it, and only a person loosens that."""

import os
from pathlib import Path

import pytest

from redlane.contexts.syscall.binding import Binding
from redlane.contexts.syscall.surroundings import Surroundings
from redlane.model.content import SystemCall


@pytest.fixture
def binding(tmp_path: Path) -> Binding:
    return Binding(Surroundings("/home/ada", os.fspath(tmp_path)))


def is_left(binding: Binding, path: str, *allowed: str) -> bool:
    call = SystemCall("mkdir", (path,), changed=(path,))
    return any(each.are_left(call) for each in binding.places(allowed))


def is_hidden(binding: Binding, path: str) -> bool:
    call = SystemCall("open", (path,))
    return any(each.owners(call) is not None for each in binding.hidden)


def test_role_without_places_binds_nobody(binding: Binding) -> None:
    binding.take("r", None, [])
    assert binding.places([]) == ()
    assert binding.hidden == ()


def test_reload_does_not_loosen(binding: Binding) -> None:
    binding.take("r", ["/a"], ["/s", "/t"])
    binding.take("r", ["/a", "/b"], ["/s"])
    assert is_left(binding, "/b/x")
    assert is_hidden(binding, "/t/x")
    binding.take("r", None, [])
    assert is_left(binding, "/b/x")
    assert is_hidden(binding, "/t/x")
    assert not is_left(binding, "/a/x")


def test_reload_tightens(binding: Binding) -> None:
    binding.take("r", ["/a", "/b"], [])
    binding.take("r", ["/b", "/c"], ["/s"])
    assert is_left(binding, "/a/x")
    assert not is_left(binding, "/b/x")
    assert is_hidden(binding, "/s/x")


def test_exception_of_one_version_is_none_in_another(binding: Binding) -> None:
    binding.take("r", None, ["/s"])
    binding.take("r", None, ["/s", "!/s/shown"])
    assert is_hidden(binding, "/s/shown")


def test_another_role_counts_as_it_is(binding: Binding) -> None:
    binding.take("r", ["/a"], ["/s"])
    binding.take("other", ["/b"], [])
    assert not is_left(binding, "/b/x")
    assert is_left(binding, "/a/x")
    assert not is_hidden(binding, "/s/x")


def test_person_allows_more_in_every_version(binding: Binding) -> None:
    binding.take("r", ["/a", "!/a/kept"], [])
    binding.take("r", ["/b"], [])
    assert not is_left(binding, "/c/x", "/c")
    assert is_left(binding, "/d", "/c")


def test_person_allows_what_was_excepted_by_its_own_path(binding: Binding) -> None:
    binding.take("r", ["/a", "!/a/kept"], [])
    assert is_left(binding, "/a/kept/x", "/a")
    assert not is_left(binding, "/a/kept/x", "/a/kept")


def test_link_that_the_session_changes_leads_nowhere_else(
    binding: Binding, tmp_path: Path
) -> None:
    (tmp_path / "way").mkdir()
    binding.take("r", ["./way/in"], [])
    (tmp_path / "way").rmdir()
    (tmp_path / "way").symlink_to("/etc")
    binding.take("r", ["./way/in"], [])
    assert is_left(binding, "/etc/in")
    assert not is_left(binding, f"{tmp_path}/way/in")
