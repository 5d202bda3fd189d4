"""Every command on the page about plugins is run, in order, and does what it says.

Administration is stood in for: `sudo` runs what follows it, `apt-get` unpacks a package
beside the system, `systemctl` writes down what it was asked, and `pipx inject` is pip.
"""

import re
import sys
from pathlib import Path

import pytest
from distributions import ROOT
from plugin_template import copy_template, make_host, needs_debhelper, run_in

PAGE = ROOT / "docs" / "writing-a-plugin.md"
PLACE = "/usr/local/lib/redlane/plugins"
BLOCKS = re.findall(
    r"^```sh\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
)
EXAMPLE_PACKAGES = ROOT / "packaging" / "example-packages.sh"

SHIMS = {
    "sudo": 'exec "$@"',
    "pip": f'exec {sys.executable} -m pip --python "$HOST" "$@"',
    "pipx": '[ "$1 $2" = "inject redlane" ] && exec pip install "$3"',
    "redlane": 'exec "$HOST" -I -m redlane "$@"',
    "systemctl": 'echo "$@" >> "$ROOT/systemctl"',
    "apt-get": """
        [ "$1 $2" = "install -y" ] || exit 1
        shift 2
        for each; do
            case $each in
                ./*) dpkg-deb -x "$each" "$ROOT" ;;
                *) echo "$each" >> "$ROOT/packages" ;;
            esac
        done""",
}


@pytest.mark.slow
@needs_debhelper
def test_every_command_of_the_page_does_what_it_says(tmp_path: Path) -> None:
    tree, root, shims = (tmp_path / each for each in ("tree", "root", "shims"))
    plugins = root / "plugins"
    packages = root / "usr/lib/python3/dist-packages"
    for each in (tree, root, shims):
        each.mkdir()
    for name, text in SHIMS.items():
        (shims / name).write_text(f"#!/bin/sh\n{text}\n")
        (shims / name).chmod(0o755)
    copy_template(tree / "examples" / "plugin")

    where, found = tree, 0
    for number, block in enumerate(BLOCKS):
        seen = [plugins] if PLACE in block else [packages] if "apt-get" in block else []
        host = make_host(tmp_path / f"host-{number}", seen)
        script = f"export PATH={shims}:$PATH\n{block.replace(PLACE, str(plugins))}"
        more = {"HOST": str(host), "ROOT": str(root), "PYTHON": str(host)}
        done = run_in(where, "bash", "-ec", script, more=more)
        assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
        if "plugins list" in block:
            found += 1
            lines = done.stdout.splitlines()
            (line,) = (each for each in lines if each.startswith("acme_glob: "))
            assert line.startswith("acme_glob: Glob (acme-redlane-glob 1.0, ")
            assert not seen or str(seen[0]) in line
        if block.startswith("cp -r examples/plugin my-plugin"):
            where = tree / "my-plugin"
    assert found == 5
    assert list(plugins.iterdir()) == []
    asked = (root / "systemctl").read_text().splitlines()
    assert asked == ["try-restart redlane"] * 2
    known = set(EXAMPLE_PACKAGES.read_text().replace('"', " ").split())
    named = set((root / "packages").read_text().split())
    assert named - {"python3-pytest"} <= known


def test_page_names_the_place_that_the_package_adds() -> None:
    rules = (ROOT / "packaging" / "debian" / "rules").read_text()
    assert PLACE in rules


def shown(kind: str) -> str:
    """The one block of that kind on the page."""
    pattern = rf"^```{kind}\n(.*?)^```$"
    (text,) = re.findall(pattern, PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return str(text)


@pytest.mark.slow
def test_plugin_of_the_page_installs_is_listed_and_passes_its_tests(
    tmp_path: Path,
) -> None:
    files = {
        "pyproject.toml": "toml",
        "redlane_match_words.py": "python plugin",
        "test_words.py": "python test",
    }
    sources = tmp_path / "words"
    sources.mkdir()
    for name, kind in files.items():
        (sources / name).write_text(shown(kind), encoding="utf-8")
    host = make_host(tmp_path / "host")
    pip = (sys.executable, "-m", "pip", "--python", host)
    for command in (
        (*pip, "install", "--no-deps", "."),
        (host, "-m", "pytest", "-p", "no:cacheprovider"),
        (host, "-I", "-m", "redlane", "plugins", "list"),
    ):
        done = run_in(sources, *map(str, command))
        assert done.returncode == 0, done.stdout + done.stderr
    assert "match_words: Words (redlane-match-words 1.0" in done.stdout
