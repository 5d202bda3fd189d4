"""The template of a plugin builds, is found wherever it is put, and decides."""

import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from distributions import ROOT
from plugin_template import (
    TEMPLATE,
    copy_template,
    make_host,
    needs_debhelper,
    run_in,
)

WHEEL = "acme_redlane_glob-1.0-py3-none-any.whl"


@dataclass(frozen=True)
class Host:
    """An environment with Redlane, and a home for its policies."""

    python: Path
    home: Path

    def redlane(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run a command as the packaged one runs, isolated from the caller's place."""
        return run_in(self.home, self.python, "-I", "-m", "redlane", *arguments)

    def plugins(self) -> dict[str, Any]:
        """What `redlane plugins list --json` prints."""
        done = self.redlane("plugins", "list", "--json")
        assert (done.returncode, done.stderr) == (0, "")
        listed: dict[str, Any] = json.loads(done.stdout)
        return listed

    def report(self, name: str) -> dict[str, Any]:
        """The one plugin of that name."""
        (found,) = (each for each in self.plugins()["plugins"] if each["name"] == name)
        return dict(found)

    def with_policy(self, **policy: object) -> "Host":
        """One policy `p`, and the role `r` that has it."""
        for path, value in {
            "policies/p.json": {"id": "p", "action": "Block", **policy},
            "roles/r.json": {"name": "r", "policies": ["p"]},
        }.items():
            file = self.home / ".redlane" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(value))
        return self

    def errors(self) -> list[str]:
        """The messages of `redlane config check`."""
        done = self.redlane("config", "check", "--json")
        return [each["message"] for each in json.loads(done.stdout)["errors"]]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sources = copy_template(tmp_path_factory.mktemp("wheel") / "plugin")
    done = run_in(sources, "make", "wheel")
    assert done.returncode == 0, done.stderr
    return sources / "dist" / WHEEL


def unpack(wheel: Path, place: Path) -> Path:
    """Install it as the manual says: into a directory, and nothing besides."""
    options = ("--target", str(place), "--no-deps", "--no-compile")
    done = run_in(wheel.parent, sys.executable, "-m", "pip", "install", *options, wheel)
    assert done.returncode == 0, done.stderr
    return place


@pytest.fixture(scope="module")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(wheel, tmp_path_factory.mktemp("unpacked") / "plugins")


@pytest.fixture
def host(unpacked: Path, tmp_path: Path) -> Host:
    place = Path(shutil.copytree(unpacked, tmp_path / "plugins"))
    home = tmp_path / "home"
    home.mkdir()
    return Host(make_host(tmp_path / "host", [place]), home)


def test_tests_of_the_template_pass(tmp_path: Path) -> None:
    done = run_in(copy_template(tmp_path / "plugin"), "make", "test")
    assert done.returncode == 0, done.stdout


def test_template_imports_nothing_of_redlane_but_what_is_for_plugins() -> None:
    imports = re.compile(r"^(?:from|import) (redlane\S*)", re.MULTILINE)
    sources = TEMPLATE.rglob("*.py")
    imported = {name for path in sources for name in imports.findall(path.read_text())}
    assert imported == {"redlane.api", "redlane.testing"}


def test_plugin_in_the_place_for_wheels_is_found(host: Host, tmp_path: Path) -> None:
    assert host.report("acme_glob") == {
        "name": "acme_glob",
        "distribution": "acme-redlane-glob",
        "version": "1.0",
        "location": str(tmp_path / "plugins"),
        "api": "1.0",
        "match_types": ["Glob"],
        "contexts": [],
        "commands": [],
        "reviewers": [],
        "error": None,
    }
    assert host.plugins()["conflicts"] == []


@pytest.mark.parametrize(
    ("content", "verdict"),
    [
        ("cat ~/.ssh/id_ed25519", "BLOCK"),
        ("bash -c 'cat /etc/ssl/../ssl/private/key'", "BLOCK"),
        ("cat 'my own.pem'", "BLOCK"),
        ("c''at \"/etc/ssl\"/private", "BLOCK"),
        ("tar c --file=/tmp/x /srv/a.pem", "BLOCK"),
        ("find / -exec cat /srv/a.pem ';'", "BLOCK"),
        ("cat /etc/ssl/openssl.cnf", "ALLOW"),
        ("echo pem", "ALLOW"),
    ],
)
def test_policy_of_its_match_type_decides(
    host: Host, content: str, verdict: str
) -> None:
    host.with_policy(**readme_policy())
    done = host.redlane("validate", content, "-r", "r")
    assert done.stderr == ""
    assert json.loads(done.stdout)["verdict"] == verdict


@pytest.mark.parametrize(
    ("path", "verdict"), [("/srv/a b.pem", "BLOCK"), ("/srv/a", "ALLOW")]
)
def test_system_call_is_judged_by_its_path(host: Host, path: str, verdict: str) -> None:
    host.with_policy(
        type="Glob", globs=["/srv/*.pem"], context="Syscall", syscall=["openat"]
    )
    content = json.dumps({"syscall": "openat", "paths": [path]})
    done = host.redlane("validate", content, "-r", "r", "-C", "Syscall")
    assert json.loads(done.stdout)["verdict"] == verdict, done.stderr


def readme_policy() -> dict[str, Any]:
    text = (TEMPLATE / "README.md").read_text()
    found = re.search(r"^```json\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert found
    policy: dict[str, Any] = json.loads(found[1])
    return {**policy, "id": "p"}


def test_policy_of_the_readme_loads(host: Host) -> None:
    assert host.with_policy(**readme_policy()).errors() == []


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ({"globs": []}, "`globs` must not be empty"),
        ({"globs": "a"}, "`globs` must be an array"),
        ({"globs": ["[a"]}, "nothing closes"),
        ({"globs": ["a"], "action": "Allow"}, "cannot Allow"),
        ({"glob": ["a"]}, "globs"),
    ],
)
def test_policy_that_cannot_be_used_is_an_error(
    host: Host, policy: dict[str, object], message: str
) -> None:
    errors = host.with_policy(type="Glob", **policy).errors()
    assert [each for each in errors if message in each]
    assert host.redlane("validate", "x", "-r", "r").returncode == 2


def test_command_of_the_plugin_is_one_of_redlane(host: Host) -> None:
    assert host.report("glob")["commands"] == ["glob"]
    fits = ("glob", "fits", "~/.ssh/**")
    assert host.redlane(*fits, "cat ~/.ssh/id_rsa").returncode == 0
    assert host.redlane(*fits, "ls").returncode == 1
    assert host.redlane("glob", "fits", "[a", "ls").returncode == 2
    assert "from acme-redlane-glob" in host.redlane("--help").stdout
    assert "fits" in host.redlane("glob", "--help").stdout


def test_fields_of_the_plugin_are_in_the_schema(host: Host) -> None:
    schema = json.loads(host.redlane("config", "schema", "policies").stdout)
    added = schema["$defs"]["policy"]["allOf"][-1]
    assert added["if"]["properties"] == {"type": {"const": "Glob"}}
    assert added["then"]["required"] == ["globs"]


def test_plugin_that_does_not_import_is_told(host: Host, tmp_path: Path) -> None:
    module = tmp_path / "plugins" / "acme_glob" / "translate.py"
    module.write_text("import acme_licence_server\n")
    error = host.report("acme_glob")["error"]
    assert error == "ModuleNotFoundError: No module named 'acme_licence_server'"
    assert host.with_policy(type="Glob", globs=["x"]).errors()


def test_plugin_that_is_not_whole_is_told(host: Host, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "plugins" / "acme_glob")
    error = host.report("acme_glob")["error"]
    assert error == "ModuleNotFoundError: No module named 'acme_glob'"
    assert host.with_policy(type="Glob", globs=["x"]).errors()


def test_plugin_with_a_torn_entry_point_is_told(host: Host, tmp_path: Path) -> None:
    (info,) = (tmp_path / "plugins").glob("*.dist-info")
    (info / "entry_points.txt").write_text("[redlane]\nacme_gl")
    error = host.report("acme-redlane-glob")["error"]
    assert error.startswith("its entry points cannot be read: ")
    assert host.with_policy(type="Glob", globs=["x"]).errors()


def test_plugin_that_offers_a_taken_type_is_told(host: Host, tmp_path: Path) -> None:
    module = tmp_path / "plugins" / "acme_glob" / "match_type.py"
    module.write_text(module.read_text().replace('name = "Glob"', 'name = "Regex"'))
    (conflict,) = host.plugins()["conflicts"]
    assert "'Regex'" in conflict
    assert "acme-redlane-glob" in conflict
    host.with_policy(type="Simple", pattern="x")
    assert host.errors() == [conflict]
    assert host.redlane("validate", "y", "-r", "r").returncode == 2


@pytest.mark.slow
@needs_debhelper
def test_package_is_found_where_debian_puts_it(tmp_path: Path) -> None:
    sources = copy_template(tmp_path / "plugin")
    done = run_in(sources, "make", "deb")
    assert done.returncode == 0, done.stderr
    (package,) = (sources / "dist").glob("*.deb")
    assert package.name == "acme-redlane-glob_1.0_all.deb"

    root = tmp_path / "root"
    subprocess.run(["dpkg-deb", "-x", package, root], check=True)
    place = root / "usr/lib/python3/dist-packages"
    home = tmp_path / "home"
    home.mkdir()
    host = Host(make_host(tmp_path / "host", [place]), home)
    found = host.report("acme_glob")
    assert (found["match_types"], found["error"]) == (["Glob"], None)
    assert found["location"] == str(place)
    host.with_policy(**readme_policy())
    assert host.redlane("validate", "cat a.pem", "-r", "r").returncode == 1

    control = tmp_path / "control"
    subprocess.run(["dpkg-deb", "-e", package, control], check=True)
    told = (control / "control").read_text()
    assert re.search(r"^Depends: .*\bredlane\b", told, re.MULTILINE)
    assert "python3-redlane" not in told
    assert (control / "triggers").read_text() == "activate-noawait redlane-plugins\n"
    lint(package)


def lint(package: Path) -> None:
    if not shutil.which("lintian"):
        return
    options = ("--allow-root", "--fail-on", "error,warning")
    done = run_in(package.parent, "lintian", *options, package)
    assert (done.returncode, done.stdout) == (0, "")


def test_trigger_is_the_one_that_redlane_waits_for() -> None:
    awaited = (ROOT / "packaging/debian/redlane.triggers").read_text()
    assert "interest-noawait redlane-plugins" in awaited.splitlines()
