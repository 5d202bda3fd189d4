"""`redlane config`: what is wrong on disk, for people and for programs."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from core.policy_home import PolicyHome, regex, simple

from redlane.cli.main import main
from redlane.policies.write_schemas import rendered

SCRIPT = Path(sys.executable).with_name("redlane")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PolicyHome:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("REDLANE_HOME", "REDLANE_SOCKET", "XDG_RUNTIME_DIR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return PolicyHome(tmp_path)


Output = pytest.CaptureFixture[str]


def script(home: PolicyHome, *arguments: str, **environ: str) -> Any:
    return subprocess.run(
        [SCRIPT, *arguments],
        env={"HOME": str(home.root), "PATH": os.environ["PATH"], **environ},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.usefixtures("home")
def test_nothing_to_check_is_exit_0(capsys: Output) -> None:
    assert main(["config", "check"]) == 0
    assert capsys.readouterr() == (
        "",
        "redlane: 0 errors, 0 warnings, 0 policies, 0 roles\n",
    )


def test_warnings_are_exit_0(home: PolicyHome, capsys: Output) -> None:
    file = home.policies(simple("odd", severity="x"))

    assert main(["config", "check"]) == 0
    out, err = capsys.readouterr()
    assert out == f"warning: {file}: odd: unknown field 'severity': it has no effect\n"
    assert err == "redlane: 0 errors, 1 warning, 1 policy, 0 roles\n"


def test_any_error_is_exit_1_and_errors_come_first(
    home: PolicyHome, capsys: Output
) -> None:
    file = home.policies(simple("odd", x=1), regex("bad", "(("))
    role = home.role("r", "nowhere")

    assert main(["config", "check"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"error: {file}: bad: ")
    assert lines[1].startswith(f"error: {role}: r: ")
    assert lines[2].startswith(f"warning: {file}: odd: ")
    assert len(lines) == 3


def test_json_has_the_shape_of_the_contract(home: PolicyHome, capsys: Output) -> None:
    file = home.policies(simple("good"), simple("odd", x=1), regex("bad", "(("))
    home.role("r", "good")

    assert main(["config", "check", "--json"]) == 1
    out, err = capsys.readouterr()
    answer = json.loads(out)
    assert err == ""
    assert set(answer) == {"errors", "warnings", "policies", "roles"}
    assert (answer["policies"], answer["roles"]) == (2, 1)
    (error,), (warning,) = answer["errors"], answer["warnings"]
    assert set(error) == set(warning) == {"file", "subject", "message"}
    assert (error["file"], error["subject"]) == (str(file), "bad")
    assert (warning["file"], warning["subject"]) == (str(file), "odd")


NASTY = {
    "line-break": "a\nerror: forged",
    "escape": "a\x1b[31mred",
    "right-to-left": "a\u202eb",
    "line-separator": "a\u2028b",
}


@pytest.mark.parametrize("name", NASTY.values(), ids=NASTY)
def test_what_a_file_says_cannot_forge_a_line(
    home: PolicyHome, capsys: Output, name: str
) -> None:
    home.policies(simple("p", **{name: 1}), {"id": name}, file=f"{name}.json")
    home.write("settings.json", {name: 1})

    main(["config", "check"])

    out = capsys.readouterr().out
    assert out
    for line in out.splitlines():
        assert line.startswith(("error: ", "warning: "))
        assert line.isprintable()
    assert "error: forged" not in [line[:13] for line in out.splitlines()]


def test_a_file_name_that_is_no_text_can_be_told(home: PolicyHome) -> None:
    home.policies(simple("p", None), file=os.fsdecode(b"\xff.json"))

    for arguments in (["config", "check"], ["config", "check", "--json"]):
        done = script(home, *arguments, LC_ALL="C", PYTHONUTF8="0")

        assert done.returncode == 1
        assert "Traceback" not in done.stderr


def test_the_console_script_checks(home: PolicyHome) -> None:
    home.policies(simple("p"))
    home.role("r", "p")
    home.settings({"sevsh": {"default_role": "r"}})

    done = script(home, "config", "check", "--json")

    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {
        "errors": [],
        "warnings": [],
        "policies": 1,
        "roles": 1,
    }


def test_redlane_home_takes_the_place_of_the_users_files(
    home: PolicyHome, tmp_path: Path
) -> None:
    home.policies(simple("p", None))

    done = script(home, "config", "check", REDLANE_HOME=str(tmp_path / "other"))

    assert done.returncode == 0


def test_no_colour_when_the_output_is_no_terminal(home: PolicyHome) -> None:
    home.write("policies/x.json", b"{")

    assert "\x1b" not in script(home, "config", "check").stdout


TERMINAL = {
    "terminal": ({"TERM": "xterm"}, True),
    "no-color": ({"TERM": "xterm", "NO_COLOR": "1"}, False),
    "dumb": ({"TERM": "dumb"}, False),
}


@pytest.mark.parametrize(("environ", "coloured"), TERMINAL.values(), ids=TERMINAL)
def test_colour_on_a_terminal_that_wants_it(
    home: PolicyHome,
    environ: dict[str, str],
    coloured: bool,  # noqa: FBT001  # a column
) -> None:
    home.write("policies/x.json", b"{")
    ours, theirs = os.openpty()
    subprocess.run(
        [SCRIPT, "config", "check"],
        env={"HOME": str(home.root), "PATH": os.environ["PATH"], **environ},
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    os.close(theirs)
    shown = os.read(ours, 10_000)
    os.close(ours)

    assert (b"\x1b[31merror:\x1b[0m" in shown) is coloured


@pytest.mark.parametrize("kind", ["policies", "roles", "settings"])
def test_schemas_are_printed(kind: str, capsys: Output) -> None:
    assert main(["config", "schema", kind]) == 0
    printed = json.loads(capsys.readouterr().out)
    if kind == "settings":  # what plugins add, the file cannot know
        assert list(given_to_plugins(printed)) == ["MlClassifier"]
        given_to_plugins(printed).clear()
    assert printed == json.loads(rendered()[f"{kind}.schema.json"])


def given_to_plugins(schema: dict[str, Any]) -> dict[str, Any]:
    found = schema["properties"]["plugins"]["anyOf"][0]["properties"]
    assert isinstance(found, dict)
    return found


def test_builtins_are_listed(capsys: Output) -> None:
    assert main(["config", "list-builtins"]) == 0
    text = capsys.readouterr().out
    assert main(["config", "list-builtins", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)

    assert len(listed) == len(text.splitlines()) > 0
    for each in listed:
        assert set(each) == {"id", "description", "contexts"}
        assert each["id"] in text
