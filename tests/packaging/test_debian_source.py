"""The Debian source package says what it must, as far as reading it can tell."""

import re
import subprocess
import tomllib
from email import message_from_string
from email.message import Message
from pathlib import Path

import pytest
from hub_operator import operate

from redlane.contexts.network import installed
from redlane.plugin_shapes import CONTEXT_PACKAGES
from redlane.plugins import KNOWN_PACKAGES

ROOT = Path(__file__).parents[2]
DEBIAN = ROOT / "packaging" / "debian"
UNITS = ROOT / "packaging" / "systemd"
PACKAGES = ("redlane", "redlane-hub")
LAYERS = ("redlane-plugin-syscall", "redlane-plugin-ml", "redlane-model-inbound")
COMMANDLESS = ("redlane-proxy",)
ON_THE_CORE = (*LAYERS, *COMMANDLESS)
LARGE = ("redlane-plugin-ml", "redlane-model-inbound")
PROJECTS = sorted(
    path
    for pattern in ("*/pyproject.toml", "plugins/*/pyproject.toml")
    for path in ROOT.glob(pattern)
)
OVERRIDES = sorted(DEBIAN.rglob("*lintian-overrides"))
SCRIPTS = sorted(
    path
    for path in DEBIAN.iterdir()
    if path.suffix in {".postinst", ".postrm", ".prerm", ".preinst", ".sh"}
)


def stanzas(text: str) -> dict[str, Message]:
    """The paragraphs of debian/control, by the package that each is of."""
    parts = re.split(r"\n{2,}", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE))
    found = [message_from_string(each.strip() + "\n") for each in parts if each.strip()]
    return {each["Package"] or "source": each for each in found}


def control() -> str:
    return (DEBIAN / "control").read_text(encoding="utf-8")


def relations(field: str) -> set[str]:
    return {each.strip() for each in field.split(",") if each.strip()}


def section(path: Path, name: str) -> str:
    found = re.search(
        rf"^\[{name}\]\n(.*?)(?=^\[|\Z)", path.read_text(), re.MULTILINE | re.DOTALL
    )
    return found[1] if found else ""


def test_the_packages_are_those_that_exist() -> None:
    assert set(stanzas(control())) == {"source", *PACKAGES, *ON_THE_CORE}
    rules = (DEBIAN / "rules").read_text(encoding="utf-8")
    assert f"\nENVIRONMENTS := {' '.join((*PACKAGES, *COMMANDLESS))}\n" in rules
    assert f"\nLAYERS := {' '.join(LAYERS)}\n" in rules


@pytest.mark.parametrize("name", [*PACKAGES, *COMMANDLESS])
def test_a_package_is_bound_to_the_python_that_it_was_built_on(name: str) -> None:
    wanted = relations(stanzas(control())[name]["Depends"])
    assert {"${redlane:Python}", "${shlibs:Depends}"} <= wanted
    rules = (DEBIAN / "rules").read_text(encoding="utf-8")
    assert "python3 (>= $(SERIES)), python3 (<< $(NEXT))" in rules
    closed = f"\n{name}_CLOSED := --closed\n" in rules
    assert closed is (name != "redlane")
    # A closed environment would not see it.
    assert ("python3-systemd" in wanted) is not closed


@pytest.mark.parametrize("name", ON_THE_CORE)
def test_a_part_of_the_core_is_of_one_version_with_it(name: str) -> None:
    wanted = relations(stanzas(control())[name]["Depends"])
    assert {"redlane (= ${binary:Version})", "${shlibs:Depends}"} <= wanted
    triggers = (DEBIAN / f"{name}.triggers").read_text(encoding="utf-8")
    assert "activate-noawait redlane-plugins" in triggers.splitlines()
    for kind, tool in (("postinst", "py3compile"), ("prerm", "py3clean")):
        script = (DEBIAN / f"{name}.{kind}").read_text(encoding="utf-8")
        assert f"{tool} -p {name} " in script


@pytest.mark.parametrize("name", ON_THE_CORE)
def test_the_core_recommends_what_adds_to_it_and_suggests_what_is_large(
    name: str,
) -> None:
    core = stanzas(control())["redlane"]
    field, other = "Recommends", "Suggests"
    if name in LARGE:
        field, other = other, field
    assert name in relations(core[field])
    assert name not in relations(core[other])


def test_the_proxy_that_redlane_tells_to_install_is_a_package() -> None:
    assert installed.PACKAGE in COMMANDLESS
    rules = (DEBIAN / "rules").read_text(encoding="utf-8")
    assert f"\n{installed.PACKAGE}_COMMANDLESS := --without-commands\n" in rules


def test_a_drop_in_counts_once_it_is_there_and_until_it_goes() -> None:
    for kind in ("postinst", "postrm"):
        script = (DEBIAN / f"redlane-proxy.{kind}").read_text(encoding="utf-8")
        assert "systemctl --system daemon-reload" in script


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("redlane-plugin-syscall", CONTEXT_PACKAGES["Syscall"]),
        ("redlane-plugin-ml", KNOWN_PACKAGES["MlClassifier"]),
    ],
)
def test_the_name_that_redlane_tells_to_install_is_a_package(
    name: str, told: str
) -> None:
    """`apt install` knows the distribution by its own name as well."""
    provided = stanzas(control())[name]["Provides"]
    assert relations(provided) == {f"{told} (= ${{binary:Version}})"}


@pytest.mark.parametrize("path", PROJECTS, ids=lambda path: path.parent.name)
def test_the_version_is_that_of_the_distributions(path: Path) -> None:
    project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    newest = re.match(r"redlane \((.+)-\d+\) ", (DEBIAN / "changelog").read_text())
    assert newest is not None
    assert project["version"] == newest[1]


@pytest.mark.parametrize("path", PROJECTS, ids=lambda path: path.parent.name)
def test_every_distribution_is_in_an_environment(path: Path) -> None:
    ours = re.findall(
        r"^\S+_OURS := ((?:.*\\\n)*.*)$", (DEBIAN / "rules").read_text(), re.MULTILINE
    )
    named = " ".join(ours).replace("\\", " ").split()
    assert str(path.parent.relative_to(ROOT)) in named


@pytest.mark.parametrize("path", OVERRIDES, ids=lambda path: path.name)
def test_every_override_has_its_reason_above(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    bare = [
        line
        for before, line in zip(["", *lines], lines, strict=False)
        if not line.startswith("#") and not before.startswith("#")
    ]
    assert lines
    assert not bare


@pytest.mark.parametrize(
    "path",
    sorted(e for e in UNITS.rglob("*.service") if e.with_suffix(".socket").exists()),
    ids=lambda path: str(path.parent.name),
)
def test_a_service_is_started_by_its_socket_alone(path: Path) -> None:
    assert not section(path, "Install")
    assert "Also=" not in path.read_text()


@pytest.mark.parametrize("name", ["redlane.socket", "redlane-hub.socket"])
def test_a_socket_of_the_machine_can_be_enabled(name: str) -> None:
    assert "WantedBy=sockets.target" in section(UNITS / name, "Install")


def test_every_unit_is_packaged() -> None:
    rules = (DEBIAN / "rules").read_text(encoding="utf-8")
    named = set(re.findall(r"packaging/systemd/(\S+)", rules))
    each = {f"{name}.{kind}" for name in PACKAGES for kind in ("service", "socket")}
    each |= {f"{name}.sysusers" for name in PACKAGES}
    there = {str(path.relative_to(UNITS)) for path in UNITS.rglob("*.*")}
    assert there <= named | each


def test_what_is_copied_for_debhelper_is_cleaned_away() -> None:
    rules = (DEBIAN / "rules").read_text(encoding="utf-8")
    copied = set(re.findall(r"^\tcp \S+ debian/(\S+)$", rules, re.MULTILINE))
    cleaned = (DEBIAN / "clean").read_text(encoding="utf-8").split()
    assert copied
    assert {f"debian/{name}" for name in copied} <= set(cleaned)


@pytest.mark.parametrize("name", PACKAGES)
def test_purge_is_the_only_thing_that_removes_data(name: str) -> None:
    text = (DEBIAN / f"{name}.postrm").read_text(encoding="utf-8")
    before, purge = text.split('if [ "$1" = purge ]; then\n')
    guarded, after = purge.split("\nfi\n", 1)
    assert f"/var/lib/{name}" in guarded
    assert "rm " not in before + after


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_maintainer_script_parses_and_stops_at_errors(script: Path) -> None:
    subprocess.run(["sh", "-n", script], check=True)
    assert re.search(r"^set -eu?$", script.read_text(), re.MULTILINE)
    assert script.suffix == ".sh" or "\n#DEBHELPER#\n" in script.read_text()


def test_the_plugins_trigger_waits_for_nobody() -> None:
    text = (DEBIAN / "redlane.triggers").read_text(encoding="utf-8")
    assert "interest-noawait redlane-plugins" in text.splitlines()


def test_the_starter_policies_that_need_no_model_are_what_is_configured() -> None:
    text = (DEBIAN / "redlane.install").read_text(encoding="utf-8")
    starter = ROOT / "product_core" / "redlane" / "starter"
    sources = {Path(line.split()[0]) for line in text.splitlines()}
    optional = {starter / "with_model"}
    assert {ROOT / each for each in sources} == set(starter.iterdir()) - optional
    assert {line.split()[1] for line in text.splitlines()} == {"etc/redlane"}


def test_the_hub_of_the_package_starts_with_its_settings(tmp_path: Path) -> None:
    settings = tomllib.loads((DEBIAN / "hub.toml").read_text(encoding="utf-8"))
    assert settings["database"].startswith("/var/lib/redlane-hub/")
    opened = tmp_path / "hub.toml"
    text = (DEBIAN / "hub.toml").read_text(encoding="utf-8")
    opened.write_text(re.sub(r"^#(?=[a-z_]+ = )", "", text, flags=re.MULTILINE))
    done = operate("settings", "--config", opened)
    assert done.returncode == 0, done.stderr
