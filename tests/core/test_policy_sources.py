"""Files are read once and whole, or are an error; nothing is skipped, nothing hangs."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from core.policy_home import PolicyHome, simple, told

from redlane.errors import LoadError
from redlane.policies.files import LARGEST, list_json, read_file
from redlane.policies.sources import MOST_MEMBERS, read_sources

Read = Callable[[int, int], bytes]


@pytest.fixture
def home(tmp_path: Path) -> PolicyHome:
    return PolicyHome(tmp_path)


def _directory(path: Path) -> None:
    path.mkdir()


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _circle(path: Path) -> None:
    path.symlink_to(path.name)


def _dangling(path: Path) -> None:
    path.symlink_to("nowhere")


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        descriptor = os.open(path.parent, os.O_PATH)
        listener.bind(f"/proc/self/fd/{descriptor}/{path.name}")
        os.close(descriptor)


def _huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(LARGEST + 1)


def _endless(path: Path) -> None:
    path.symlink_to("/proc/self/maps")


ODD = {
    "directory": (_directory, "a directory"),
    "named-pipe": (_pipe, "a named pipe"),
    "link-circle": (_circle, "in a circle"),
    "dangling-link": (_dangling, "to nothing"),
    "device": (_device, "a device"),
    "socket": (_socket, "a socket"),
    "too-large": (_huge, "larger than 16 MiB"),
    "size-unknown": (_endless, "could not be read whole"),
}


@pytest.mark.parametrize("place", ["policies", "roles", "settings"])
@pytest.mark.parametrize(("make", "says"), ODD.values(), ids=ODD)
def test_what_is_no_readable_file_is_an_error(
    home: PolicyHome, make: Callable[[Path], None], says: str, place: str
) -> None:
    home.policies()
    home.role("r")
    path = home.paths.home / (
        "settings.json" if place == "settings" else f"{place}/x.json"
    )
    make(path)

    (error,) = home.load().errors

    assert error.file == str(path)
    assert says in error.message


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
@pytest.mark.parametrize("place", ["policies/p.json", "policies", "roles"])
def test_what_may_not_be_read_is_an_error(home: PolicyHome, place: str) -> None:
    home.policies(simple("a"))
    home.role("r", "a")
    path = home.paths.home / place
    path.chmod(0)

    errors = home.load().errors
    path.chmod(0o700)

    assert (str(path), "cannot be read: permission denied") in [
        (each.file, each.message) for each in errors
    ]


def test_directories_that_are_not_there_hold_nothing(home: PolicyHome) -> None:
    loaded = home.load()

    assert loaded.findings == ()
    assert not loaded.ruleset.policies


def test_a_directory_that_is_a_file_is_an_error(home: PolicyHome) -> None:
    home.write("policies", {})

    assert told(home.load().errors) == [
        ("policies", "", "cannot be read: not a directory")
    ]


def test_a_directory_that_is_a_dangling_link_is_an_error(home: PolicyHome) -> None:
    home.paths.home.mkdir()
    home.paths.roles.symlink_to("gone")

    assert told(home.load().errors) == [
        ("roles", "", "a symbolic link to a directory that is not there")
    ]


def test_names_are_read_bytewise_and_only_json(tmp_path: Path) -> None:
    for name in [
        "b.json",
        "B.json",
        "é.json",
        "a.json",
        "a.json~",
        "README",
        "z.jsonc",
    ]:
        (tmp_path / name).write_bytes(b"[]")
    (tmp_path / os.fsdecode(b"\xff.json")).write_bytes(b"[]")

    names = [os.fsencode(path.name) for path in list_json(tmp_path).files]

    assert names == [b"B.json", b"a.json", b"b.json", "é.json".encode(), b"\xff.json"]


def test_hidden_and_misspelled_names_are_told_not_read(home: PolicyHome) -> None:
    home.policies(simple("a"))
    home.write("policies/.#p.json", b"not json")
    home.write("policies/Q.JSON", b"not json")

    loaded = home.load()

    assert not loaded.errors
    assert [Path(each.file).name for each in loaded.warnings] == [".#p.json", "Q.JSON"]


def test_a_file_that_grows_while_it_is_read_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b"[]")

    def grow(descriptor: int, size: int, read: "Read" = os.read) -> bytes:
        data = read(descriptor, size)
        with path.open("ab") as file:
            file.write(b" ")
        return data

    monkeypatch.setattr(os, "read", grow)

    with pytest.raises(LoadError, match="changed while it was read"):
        read_file(path)


def test_a_file_that_is_replaced_while_it_is_read_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other = tmp_path / "x.json", tmp_path / "y.json"
    path.write_bytes(b"[]")

    def replace(descriptor: int, size: int, read: "Read" = os.read) -> bytes:
        other.write_bytes(b"{}")
        other.rename(path)
        return read(descriptor, size)

    monkeypatch.setattr(os, "read", replace)

    with pytest.raises(LoadError, match="changed while it was read"):
        read_file(path)


def test_a_file_name_with_a_nul_is_an_error() -> None:
    with pytest.raises(LoadError):
        read_file(Path("a\0b"))


LEGACY = {
    "object": simple("old"),
    "array": [simple("old")],
    "frame": {
        "policies": [simple("old")],
        "roles": [{"name": "r", "policies": ["old"]}],
    },
    "frame-of-one": {"policies": simple("old"), "roles": None},
}


@pytest.mark.parametrize("value", LEGACY.values(), ids=LEGACY)
def test_the_legacy_file_is_read_when_the_directory_holds_no_policy(
    home: PolicyHome, value: object
) -> None:
    home.legacy(value)
    home.policies()

    loaded = home.load()

    assert not loaded.findings
    assert set(loaded.ruleset.policies) == {"old"}


def test_the_legacy_roles_are_loaded_with_the_others(home: PolicyHome) -> None:
    home.legacy(LEGACY["frame"])
    home.role("s", "old")

    assert set(home.load().ruleset.roles) == {"r", "s"}


BESIDE = {
    "a-policy": [simple("new")],
    "a-broken-policy": [{"id": "new"}],
    "a-broken-file": b"{",
    "no-file": None,
}


@pytest.mark.parametrize("value", BESIDE.values(), ids=BESIDE)
def test_the_legacy_file_is_not_read_beside_a_policy_or_a_broken_file(
    home: PolicyHome, value: object
) -> None:
    home.legacy([simple("old")])
    if value is None:
        (home.paths.policies / "x.json").mkdir(parents=True)
    else:
        home.write("policies/x.json", value)

    assert "old" not in home.load().ruleset.policies


@pytest.mark.parametrize("key", ["polices", "Policies", "role"])
def test_a_misspelled_frame_of_the_legacy_file_is_an_error(
    home: PolicyHome, key: str
) -> None:
    home.legacy({key: [simple("old")]})

    (error,) = home.load().errors

    assert "did you mean" in error.message


@pytest.mark.parametrize("place", ["policies", "roles"])
def test_a_file_of_too_many_members_is_one_error(home: PolicyHome, place: str) -> None:
    home.write(f"{place}/x.json", [{}] * (MOST_MEMBERS + 1))

    (error,) = home.load().errors

    assert error.file.endswith("x.json")
    assert "split the file" in error.message
    assert bool(home.load().problems_of_role("r")) is (place == "roles")


def test_what_came_from_a_hub_is_read_with_the_others(home: PolicyHome) -> None:
    home.policies(simple("own"))
    home.write("policies/hub/team.json", [simple("shared")])
    home.role("r", "own", "shared")

    loaded = home.load()

    assert not loaded.findings
    assert set(loaded.ruleset.policies) == {"own", "shared"}


def test_files_of_a_hub_come_in_the_order_of_all_names(home: PolicyHome) -> None:
    for file in ("hub.json", "hub/a.json", "hub/b.json", "hub0.json", "z.json"):
        home.write(f"policies/{file}", [simple(file)])

    found = [each.file for each in read_sources(home.paths).policies]

    assert found == sorted(found, key=os.fsencode)
    assert len(found) == 5


def test_an_id_of_the_hub_is_one_of_ones_own(home: PolicyHome) -> None:
    home.policies(simple("x"), file="own.json")
    home.write("policies/hub/team.json", [simple("x")])

    (error,) = home.load().errors

    assert (Path(error.file).name, error.subject) == ("own.json", "x")
    assert "policies/hub/team.json" in error.message


@pytest.mark.parametrize("value", [[simple("new")], [{"id": "new"}], b"{"])
def test_the_legacy_file_is_not_read_beside_what_came_from_a_hub(
    home: PolicyHome, value: object
) -> None:
    home.legacy([simple("old")])
    home.write("policies/hub/team.json", value)

    assert "old" not in home.load().ruleset.policies


def test_the_legacy_file_is_read_beside_an_empty_directory_of_a_hub(
    home: PolicyHome,
) -> None:
    home.legacy([simple("old")])
    home.paths.hub_policies.mkdir(parents=True)

    assert set(home.load().ruleset.policies) == {"old"}


@pytest.mark.parametrize("make", [_dangling, _circle, _pipe, Path.touch])
def test_a_directory_of_a_hub_that_cannot_be_read_is_one_error(
    home: PolicyHome, make: Callable[[Path], None]
) -> None:
    home.policies(simple("own"))
    home.legacy([simple("old")])
    make(home.paths.hub_policies)

    loaded = home.load()

    assert [each.file for each in loaded.errors] == [str(home.paths.hub_policies)]
    assert "old" not in loaded.ruleset.policies


def test_names_that_are_not_read_are_told_of_a_hub_too(home: PolicyHome) -> None:
    home.write("policies/hub/.team.json", [simple("x")])
    home.write("policies/hub/team.JSON", [simple("x")])

    loaded = home.load()

    assert {file for file, _, _ in told(loaded.warnings)} == {".team.json", "team.JSON"}
    assert not loaded.ruleset.policies


def test_other_directories_below_the_policies_are_not_read(home: PolicyHome) -> None:
    home.write("policies/other/x.json", [simple("x")])
    home.write("policies/hub/deeper/y.json", [simple("y")])

    assert not home.load().ruleset.policies
