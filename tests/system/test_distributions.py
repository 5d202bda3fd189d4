"""Each distribution can be released, and installed by itself or with the others."""

import importlib.metadata
import os
import re
import stat
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path
from typing import Any

import pytest
from distributions import (
    DISTRIBUTIONS,
    ROOT,
    Environment,
    copy_of,
    link,
    link_native,
    make_environment,
    pip,
    released,
)
from spec.redlane_home import Home, Ran

PLUGINS = {
    "redlane-match-simple": ("Simple", {"pattern": "rm"}),
    "redlane-match-regex": ("Regex", {"pattern": "r[m]"}),
    "redlane-match-executable": ("Executable", {"pattern": "grep -q rm"}),
    "redlane-match-mcp": ("McpTool", {"tool": "rm"}),
    # Its model is not there, so that it blocks.
    "redlane-match-ml": ("MlClassifier", {"model": "none", "block_threshold": 0.9}),
}
CONTEXT = "redlane-context-syscall"
CLASSIFIER = "redlane-match-ml"
PROGRAMS = ("redlane-sh", "redlane-run")
CALL = '{"server": "files", "tool": "rm", "arguments": {}}'


def project(source: Path) -> dict[str, Any]:
    """The table `project` of a distribution's pyproject.toml."""
    table = tomllib.loads((source / "pyproject.toml").read_text())["project"]
    assert isinstance(table, dict)
    return table


def name_of(source: Path) -> str:
    return str(project(source)["name"])


SOURCE_SUFFIXES = {
    *(".py", ".pyi", ".c", ".h", ".json", ".typed"),
    *(".html", ".css", ".svg", ".onnx"),
}
CORE = next(each for each in DISTRIBUTIONS if name_of(each) == "redlane")
every_distribution = pytest.mark.parametrize("source", DISTRIBUTIONS, ids=name_of)


@pytest.fixture(scope="session")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return released(tmp_path_factory)


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return make_environment(tmp_path / "environment")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.env["PYTHONWARNINGS"] = "error"
    return made


def release(releases: Path, source: Path, suffix: str) -> Path:
    """The release of a distribution that ends in `suffix`."""
    stem = f"{name_of(source).replace('-', '_')}-{project(source)['version']}"
    (found,) = releases.glob(f"{stem}{suffix}")
    return found


def contents(wheel: Path) -> set[str]:
    """What a wheel installs, without what describes it."""
    with zipfile.ZipFile(wheel) as archive:
        return {each for each in archive.namelist() if ".dist-info/" not in each}


def described(wheel: Path, file: str) -> str:
    """A file out of what describes a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        (path,) = (each for each in archive.namelist() if each.endswith(f"/{file}"))
        return archive.read(path).decode()


def metadata(wheel: Path) -> "Message[str, str]":
    return Parser().parsestr(described(wheel, "METADATA"))


def test_core_is_everything_but_the_sources_of_the_programs(releases: Path) -> None:
    wheel = release(releases, CORE, "-*.whl")
    package = CORE / "redlane"
    ours = {
        str(path.relative_to(CORE))
        for path in package.rglob("*")
        if path.suffix in {".py", ".json", ".typed"} or path.stem == "kernel_tracer"
    }
    modules = {f"redlane/contexts/shell/bin/{name}" for name in PROGRAMS}
    scripts = {
        f"{wheel.name.split('-py3')[0]}.data/scripts/{each}" for each in PROGRAMS
    }
    assert contents(wheel) == ours | modules | scripts


@pytest.mark.parametrize(
    "source",
    [each for each in DISTRIBUTIONS if name_of(each) in {*PLUGINS} - {CLASSIFIER}],
    ids=name_of,
)
def test_match_type_is_one_module(releases: Path, source: Path) -> None:
    module = f"{name_of(source).replace('-', '_')}.py"
    assert contents(release(releases, source, "-*.whl")) == {module}


def test_classifier_is_a_package_for_any_python(releases: Path) -> None:
    (source,) = (each for each in DISTRIBUTIONS if name_of(each) == CLASSIFIER)
    wheel = release(releases, source, "-*.whl")
    package = source / CLASSIFIER.replace("-", "_")
    files = (each for each in package.iterdir() if each.suffix in SOURCE_SUFFIXES)
    assert contents(wheel) == {f"{package.name}/{each.name}" for each in files}
    assert wheel.name.endswith("-py3-none-any.whl")


def test_context_is_a_package_with_an_extension_for_any_python(releases: Path) -> None:
    (source,) = (each for each in DISTRIBUTIONS if name_of(each) == CONTEXT)
    wheel = release(releases, source, "-*.whl")
    package = source / CONTEXT.replace("-", "_")
    ours = {
        str(path.relative_to(source))
        for path in package.rglob("*")
        if path.suffix in SOURCE_SUFFIXES
    }
    assert contents(wheel) == ours | {f"{package.name}/_hot.abi3.so"}
    assert re.search(r"-cp311-abi3-manylinux_2_\d+_\w+\.whl$", wheel.name)


def test_hub_brings_its_pages(releases: Path) -> None:
    source = ROOT / "hub"
    wanted = {
        str(path.relative_to(source))
        for path in (source / "redlane_hub").rglob("*")
        if path.suffix in SOURCE_SUFFIXES
    }
    assert any(each.endswith(".html") for each in wanted)
    assert contents(release(releases, source, "-*.whl")) == wanted


@every_distribution
def test_release_is_licensed_and_described(releases: Path, source: Path) -> None:
    wheel = release(releases, source, "-*.whl")
    about = metadata(wheel)
    assert described(wheel, "licenses/LICENSE") == (ROOT / "LICENSE").read_text()
    assert about["License-Expression"] == "Apache-2.0"
    assert about["Requires-Python"] == ">=3.11"
    assert (
        str(about.get_payload()).strip() == (source / "README.md").read_text().strip()
    )


def test_programs_are_compiled_and_executable(releases: Path) -> None:
    with zipfile.ZipFile(release(releases, CORE, "-*.whl")) as archive:
        found = [
            each for each in archive.infolist() if Path(each.filename).name in PROGRAMS
        ]
        assert len(found) == 2 * len(PROGRAMS)
        for each in found:
            assert archive.read(each).startswith(b"\x7fELF"), each
            assert stat.S_IMODE(each.external_attr >> 16) == 0o755, each


def test_wheel_is_for_one_machine_and_any_python_or_c_library(releases: Path) -> None:
    wheel = release(releases, CORE, "-*.whl")
    machine = os.uname().machine
    platforms = (
        f"manylinux_2_17_{machine}.manylinux2014_{machine}.musllinux_1_1_{machine}"
    )
    assert re.fullmatch(rf"redlane-[\d.]+-py3-none-{platforms}\.whl", wheel.name)
    assert "Root-Is-Purelib: true" in described(wheel, "WHEEL")


@every_distribution
def test_source_release_holds_sources_and_nothing_made(
    releases: Path, source: Path
) -> None:
    with tarfile.open(release(releases, source, ".tar.gz")) as archive:
        members = {each.name.partition("/")[2]: each for each in archive}
    assert all(each.isfile() or each.isdir() for each in members.values())
    wanted = {"LICENSE", "README.md", "pyproject.toml"}
    wanted |= {
        str(path.relative_to(source))
        for path in source.rglob("*")
        if path.suffix in SOURCE_SUFFIXES
    }
    files = {name for name, each in members.items() if each.isfile()}
    made = {name for name in files if name.startswith("redlane") and "egg-info" in name}
    assert files - made - {"PKG-INFO", "setup.cfg", "MANIFEST.in"} == wanted


def write_policy(home: Home, kind: str, **fields: object) -> None:
    context = "Mcp" if kind == "McpTool" else "Shell"
    policy = {"id": "p", "type": kind, "action": "Block", "context": context, **fields}
    home.policies(policy)
    home.role("r", "p")


def redlane(environment: Environment, home: Home, *arguments: str) -> Ran:
    return home.run(*arguments, program=environment.scripts / "redlane")


def types(environment: Environment, home: Home) -> set[str]:
    """The match types that `redlane plugins list` shows; it must find no fault."""
    listed = redlane(environment, home, "plugins", "list", "--json").json
    assert listed["conflicts"] == []
    assert [each["error"] for each in listed["plugins"] if each["error"]] == []
    return {name for each in listed["plugins"] for name in each["match_types"]}


def test_core_alone_has_no_match_type(
    environment: Environment, releases: Path, home: Home
) -> None:
    environment.install(releases, "redlane")
    assert types(environment, home) == set()
    for package, (kind, fields) in PLUGINS.items():
        write_policy(home, kind, **fields)
        check = redlane(environment, home, "config", "check", "--json")
        (error,) = check.json["errors"]
        assert package in error["message"]
        refused = redlane(environment, home, "validate", "x", "-r", "r")
        assert refused.code == 2
        assert package in refused.refusal
    started = redlane(environment, home, "start", "--role", "r")
    assert started.code == 2
    assert "Traceback" not in started.said
    tried = redlane(environment, home, "try", "-c", "echo ran")
    assert tried.code != 0
    assert tried.out == ""
    assert "Traceback" not in tried.err


@pytest.mark.parametrize("package", PLUGINS)
def test_plugin_works_with_the_core_and_no_other(
    environment: Environment, releases: Path, home: Home, package: str
) -> None:
    kind, fields = PLUGINS[package]
    if package == CLASSIFIER:
        link_native(environment.root / "others")
    environment.install(releases, package)
    assert types(environment, home) == {kind}
    write_policy(home, kind, **fields)
    content, context = (CALL, "Mcp") if kind == "McpTool" else ("rm x", "Shell")
    asked = ("validate", content, "-r", "r", "-C", context)
    assert redlane(environment, home, *asked).json["policy"] == "p"


def test_standard_brings_every_match_type_and_leaves_again(
    environment: Environment, releases: Path, home: Home
) -> None:
    link(importlib.metadata.distribution("pyseccomp"), environment.root / "others")
    link_native(environment.root / "others")
    environment.install(releases, "redlane[standard]")
    assert "context Syscall" in redlane(environment, home, "plugins", "list").out
    assert types(environment, home) == {kind for kind, _ in PLUGINS.values()}
    python = str(environment.scripts / "python")
    pip("--python", python, "uninstall", "--yes", "redlane-match-regex")
    assert "Regex" not in types(environment, home)
    pip("--python", python, "uninstall", "--yes", "redlane")
    assert not [*environment.scripts.glob("redlane*")]
    assert not [*environment.site.glob("redlane/**/*")]


def test_syscall_brings_the_context_of_that_name(
    environment: Environment, releases: Path, home: Home
) -> None:
    link(importlib.metadata.distribution("pyseccomp"), environment.root / "others")
    environment.install(releases, "redlane[syscall]")
    assert "context Syscall" in redlane(environment, home, "plugins", "list").out
    assert types(environment, home) == set()


def test_commands_work_where_they_are_installed(
    environment: Environment, releases: Path, home: Home
) -> None:
    environment.install(releases, "redlane", "redlane-match-simple")
    version = redlane(environment, home, "--version")
    assert version.out == f"redlane {project(CORE)['version']}\n"
    write_policy(home, "Simple", pattern="rm")
    shell = environment.scripts / "redlane-sh"
    unguarded = home.run("-c", "echo ran", program=shell)
    assert (unguarded.code, unguarded.out) == (126, "")
    assert redlane(environment, home, "start", "--role", "r").code == 0
    try:
        assert home.run("-c", "echo ran", program=shell).out == "ran\n"
        assert home.run("-c", "rm x", program=shell).code == 126
        ran = redlane(environment, home, "run", "--", "sh", "-c", "rm x; echo on")
        assert ran.out == ""
    finally:
        assert redlane(environment, home, "stop").code == 0


NO_HEADERS = """\
#!/bin/sh
echo "$PWD/ask.c:5:10: fatal error: errno.h: No such file or directory" >&2
exit 1
"""


@pytest.mark.parametrize(
    ("compiler", "missing", "package"),
    [
        (None, "no C compiler:", "gcc libc6-dev"),
        ("nowhere-gcc", "no C compiler nowhere-gcc (CC names it):", "gcc libc6-dev"),
        (NO_HEADERS, "errno.h: No such file or directory", "libc6-dev"),
    ],
    ids=["no-compiler", "named-compiler-missing", "no-headers"],
)
def test_without_a_compiler_nothing_is_built_and_a_line_says_what_is_missing(
    tmp_path: Path, compiler: str | None, missing: str, package: str
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    env = {"PATH": str(tools)}
    if compiler == NO_HEADERS:
        (tools / "cc").write_text(NO_HEADERS)
        (tools / "cc").chmod(0o755)
    elif compiler is not None:
        env["CC"] = compiler
    options = ("--isolated", "--disable-pip-version-check", "wheel", "--no-deps")
    built = subprocess.run(
        [
            *(sys.executable, "-m", "pip", *options, "--no-index"),
            *("--no-build-isolation", "--wheel-dir", tmp_path),
            copy_of(CORE, tmp_path / "sources"),
        ],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode != 0
    assert not [*tmp_path.glob("*.whl")]
    said = built.stdout + built.stderr
    assert "Traceback" not in said
    (line,) = {each.strip() for each in said.splitlines() if "redlane: " in each}
    assert missing in line
    assert f"Debian: apt install {package}" in line
    assert "or install a wheel" in line


@pytest.mark.parametrize(
    "source",
    [each for each in DISTRIBUTIONS if each.parent.name == "plugins"],
    ids=name_of,
)
def test_example_on_the_page_of_a_plugin_loads(home: Home, source: Path) -> None:
    page = (source / "README.md").read_text()
    (example,) = re.findall(r"^```json\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    home.write("policies/example.json", example)
    checked = home.check()
    assert (checked.errors, checked.policies) == ([], 1)


def test_distributions_are_of_one_version() -> None:
    namespace: dict[str, object] = {}
    exec((CORE / "redlane" / "__init__.py").read_text(), namespace)
    versions = {project(each)["version"] for each in DISTRIBUTIONS}
    assert versions == {namespace["__version__"]}


def names_in(text: str) -> set[str]:
    """The names at the start of lines, as an index compares them."""
    found = re.findall(r"^([A-Za-z0-9][\w.-]*)", text, re.MULTILINE)
    return {re.sub(r"[-_.]+", "-", each).lower() for each in found}


@every_distribution
def test_everything_needed_is_locked(source: Path) -> None:
    ours = {name_of(each) for each in DISTRIBUTIONS}
    build_system = tomllib.loads((source / "pyproject.toml").read_text())[
        "build-system"
    ]
    needed = names_in(
        "\n".join([*project(source)["dependencies"], *build_system["requires"]])
    )
    assert needed - ours <= names_in((ROOT / "requirements.in").read_text())
    assert needed - ours <= names_in((ROOT / "constraints.txt").read_text())
