"""`redlane init` writes the starter policies and roles (interface contract)."""

import json
from pathlib import Path

from spec.redlane_home import Home


def _files(home: Home) -> list[Path]:
    return sorted((home.dir / "policies").glob("*.json"))


def test_it_writes_policies_and_roles_that_load(home: Home) -> None:
    assert home.run("init").code == 0

    checked = home.check()
    assert (checked.code, checked.errors) == (0, [])
    assert checked.policies > 0
    assert checked.roles > 0


def test_a_review_waits_for_ten_minutes(home: Home) -> None:
    home.run("init")

    settings = json.loads((home.dir / "settings.json").read_text())
    assert settings["review"]["timeout_seconds"] == 600


def test_it_makes_the_directory(home: Home) -> None:
    home.dir.rmdir()

    assert home.run("init").code == 0
    assert home.check().policies > 0


def test_it_writes_where_redlane_home_says(home: Home) -> None:
    other = home.user / "elsewhere"
    home.env["REDLANE_HOME"] = str(other)

    assert home.run("init").code == 0
    assert list((other / "policies").glob("*.json"))
    assert not list(home.dir.iterdir())


def test_the_daemon_starts_on_them(home: Home) -> None:
    home.run("init")

    home.start()

    assert home.control.analyze("ls", hold=False)["verdict"] == "ALLOW"
    assert home.control.analyze("rm -rf /", hold=False)["verdict"] == "BLOCK"


def test_it_keeps_what_the_user_has_changed(home: Home) -> None:
    home.run("init")
    path = _files(home)[0]
    path.write_text("[]")

    home.run("init")

    assert path.read_text() == "[]"


def test_a_second_time_is_no_traceback(home: Home) -> None:
    home.run("init")

    assert "Traceback" not in home.run("init").said
    assert home.check().code == 0
