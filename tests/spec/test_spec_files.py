"""Files that are no JSON, odd files, and what is said about them (policy format)."""

import os
from pathlib import Path

import pytest
from spec.cases import simple
from spec.redlane_home import Checked, Home

GOOD = '{"id": "p", "type": "Simple", "action": "Block", "pattern": "x"}'
BROKEN: dict[str, str | bytes] = {
    "empty": "",
    "blank": " \n",
    "cut-short": '{"id": "p", ',
    "trailing-comma": GOOD[:-1] + ",}",
    "trailing-garbage": GOOD + " x",
    "two-values": GOOD + GOOD.replace('"p"', '"q"'),
    "single-quotes": GOOD.replace('"', "'"),
    "comment": "// hello\n" + GOOD,
    "string": '"policy"',
    "number": "42",
    "null": "null",
    "array-of-numbers": "[1]",
    "array-of-arrays": f"[[{GOOD}]]",
    "duplicate-key": GOOD[:-1] + ', "action": "Allow"}',
    "duplicate-key-same-value": GOOD[:-1] + ', "action": "Block"}',
    "duplicate-key-escaped": GOOD[:-1] + r', "\u0061ction": "Allow"}',
    "duplicate-key-inside": '{"id": "p", "type": "Simple", "action": "Modify", '
    '"pattern": "x", "transform": {"type": "Regex", "pattern": "a", '
    '"replacement": "", "pattern": "b"}}',
    "utf-16": GOOD.encode("utf-16"),
    "utf-16-le": GOOD.encode("utf-16-le"),
    "utf-32": GOOD.encode("utf-32"),
    "latin-1": GOOD.replace("x", "é").encode("latin-1"),
    "nul": b"\0",
    "deep": "[" * 200_000,
    "deep-closed": "[" * 50_000 + "]" * 50_000,
    "long-number": '{"id": "p", "kill": ' + "9" * 50_000 + "}",
    "lone-surrogate": GOOD.replace('"x"', r'"\ud800"'),
}


@pytest.mark.parametrize("place", ["policies", "roles"])
@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_does_not_parse_is_an_error(
    broken: Checked, place: str, name: str
) -> None:
    assert broken.errors_in(f"{place}-{name}.json")


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Checked:
    home = Home(tmp_path_factory.mktemp("broken"))
    for name, data in BROKEN.items():
        home.write(f"policies/policies-{name}.json", data)
        home.write(f"roles/roles-{name}.json", data)
    return home.check()


def test_a_utf8_byte_order_mark_is_accepted(home: Home) -> None:
    role = b'{"name": "agent", "policies": ["p"]}'
    home.write("policies/a.json", b"\xef\xbb\xbf" + GOOD.encode())
    home.write("roles/a.json", b"\xef\xbb\xbf" + role)
    home.write("settings.json", b'\xef\xbb\xbf{"sevsh": {"default_role": "agent"}}')

    assert home.check().errors == []
    assert home.verdict("x")["verdict"] == "BLOCK"


def _link_to_itself(path: Path) -> None:
    path.symlink_to(path.name)


def _link_to_nothing(path: Path) -> None:
    path.symlink_to("nowhere.json.txt")


def _endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _too_large(path: Path) -> None:
    path.write_bytes(GOOD.encode() + b" " * (16 * 1024 * 1024 + 1))


def _directory(path: Path) -> None:
    path.mkdir()


ODD = {
    "symlink-loop": _link_to_itself,
    "dangling-symlink": _link_to_nothing,
    "fifo": os.mkfifo,
    "device": _endless,
    "over-16-mib": _too_large,
    "directory": _directory,
}


@pytest.mark.parametrize("place", ["policies", "roles"])
@pytest.mark.parametrize("name", ODD)
def test_an_odd_file_is_an_error_and_never_hangs(
    home: Home, place: str, name: str
) -> None:
    home.policies({"id": "fine", **simple("Block", "x")})
    (home.dir / place).mkdir(exist_ok=True)
    ODD[name](home.dir / place / "odd.json")

    checked = home.check()

    assert checked.code == 1
    assert checked.errors_in("odd.json")
    assert checked.policies == 1


@pytest.mark.parametrize("name", ["symlink-loop", "fifo", "device", "directory"])
def test_odd_settings_are_an_error(home: Home, name: str) -> None:
    ODD[name](home.dir / "settings.json")

    checked = home.check()

    assert checked.code == 1
    assert checked.errors_in("settings.json")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
@pytest.mark.parametrize("name", ["policies/a.json", "roles/a.json", "settings.json"])
def test_an_unreadable_file_is_an_error(home: Home, name: str) -> None:
    home.write(name, GOOD).chmod(0)

    checked = home.check()

    assert checked.code == 1
    assert checked.errors_in(Path(name).name)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every directory")
@pytest.mark.parametrize("name", ["policies", "roles"])
def test_an_unreadable_directory_is_an_error(home: Home, name: str) -> None:
    home.write(f"{name}/a.json", GOOD)
    (home.dir / name).chmod(0)
    try:
        checked = home.check()
    finally:
        (home.dir / name).chmod(0o700)

    assert checked.code == 1
    assert any(name in each["file"] for each in checked.errors)


def test_policies_that_is_no_directory_is_an_error(home: Home) -> None:
    home.write("policies", GOOD)

    assert home.check().code == 1


def test_a_file_name_that_is_no_utf8_is_no_crash(home: Home) -> None:
    (home.dir / "policies").mkdir()
    name = os.fsencode(home.dir / "policies") + b"/\xff.json"
    with open(name, "wb") as file:  # noqa: PTH123  # a Path cannot hold the name
        file.write(GOOD.encode())

    assert home.check().policies == 1
    assert home.run("config", "check").code == 0
