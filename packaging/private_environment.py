"""Fills a private Python environment below a package's root from wheels.

It is what `python3 -m venv --system-site-packages` makes, without what holds the path
of where it was built, and without commands but those of our own distributions.
"""

import argparse
import shutil
import subprocess
import tomllib
from configparser import ConfigParser
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Environment", "main"]

_COMMAND = """\
#!{prefix}/bin/python3 -I
import sys

from {module} import {function}

sys.exit({function}())
"""
# Debian's packages (python3-systemd, plugins) may be seen; what is private comes first.
_CONFIGURATION = """\
home = /usr/bin
include-system-site-packages = {open}
version = {series}
executable = /usr/bin/python3
"""


@dataclass(frozen=True, slots=True)
class Environment:
    """An environment that will be installed as `prefix`, below `root` while built."""

    root: Path
    prefix: Path
    series: str

    @property
    def place(self) -> Path:
        """Where it is while it is built."""
        return self.root / self.prefix.relative_to("/")

    @property
    def site(self) -> Path:
        """Where its packages are."""
        return self.place / "lib" / f"python{self.series}" / "site-packages"

    def lay_out(self, *, closed: bool) -> None:
        """Make it, with an interpreter and nothing else."""
        (self.place / "bin").mkdir(parents=True)
        (self.place / "bin" / "python3").symlink_to("/usr/bin/python3")
        seen = "false" if closed else "true"
        text = _CONFIGURATION.format(series=self.series, open=seen)
        (self.place / "pyvenv.cfg").write_text(text, encoding="utf-8")

    def tidy(self) -> None:
        """Drop the commands of distributions, and what is told of them.

        Their first lines name the building interpreter, so that their hashes would
        differ from one build to the next.
        """
        shutil.rmtree(self.site / "bin", ignore_errors=True)
        for record in self.site.glob("*.dist-info/RECORD"):
            lines = record.read_text(encoding="utf-8").splitlines(keepends=True)
            kept = [line for line in lines if not line.startswith("../")]
            record.write_text("".join(kept), encoding="utf-8")

    def add_commands(self, distribution: str) -> None:
        """Write the commands of a distribution of ours into /usr/bin."""
        stem = distribution.replace("-", "_")
        (info,) = self.site.glob(f"{stem}-[0-9]*.dist-info")
        points = ConfigParser(delimiters=("=",))
        points.read(info / "entry_points.txt", encoding="utf-8")
        if not points.has_section("console_scripts"):
            return
        for name, target in points.items("console_scripts"):
            module, function = target.split(":")
            command = self.root / "usr" / "bin" / name
            command.parent.mkdir(parents=True, exist_ok=True)
            text = _COMMAND.format(prefix=self.prefix, module=module, function=function)
            command.write_text(text, encoding="utf-8")
            command.chmod(0o755)


def _install(pip: str, environment: Environment, *arguments: str) -> None:
    subprocess.run(
        [
            *(pip, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
            *("--no-index", "--no-deps", "--no-compile", "--only-binary", ":all:"),
            # For a source: it is built by the tools that are here.
            *("--no-build-isolation", "--use-pep517", "--no-cache-dir"),
            *("--target", str(environment.site), "--upgrade", *arguments),
        ],
        check=True,
    )


def _name(directory: Path) -> str:
    text = (directory / "pyproject.toml").read_text(encoding="utf-8")
    return str(tomllib.loads(text)["project"]["name"])


def main() -> None:
    """Make the environment and the commands."""
    parser = argparse.ArgumentParser(description=__doc__)
    for option in ("--pip", "--series", "--wheelhouse", "--wheels"):
        parser.add_argument(option, required=True)
    parser.add_argument("--locked", type=Path, required=True)
    parser.add_argument("--layer", action="store_true", help="add to what is there")
    parser.add_argument("--closed", action="store_true", help="nothing of Debian's")
    parser.add_argument("--without-commands", action="store_true")
    parser.add_argument(
        "--source", action="append", default=[], help="built here, of its locked source"
    )
    parser.add_argument("root", type=Path)
    parser.add_argument("prefix", type=Path)
    parser.add_argument("directory", type=Path, nargs="+")
    given = parser.parse_args()
    environment = Environment(given.root, given.prefix, given.series)
    names = [_name(directory) for directory in given.directory]
    environment.site.mkdir(parents=True)
    if not given.layer:
        environment.lay_out(closed=given.closed)
    if given.locked.read_text(encoding="utf-8"):
        locked = ["--require-hashes", "--requirement", str(given.locked)]
        locked += [word for each in given.source for word in ("--no-binary", each)]
        _install(given.pip, environment, "--find-links", given.wheelhouse, *locked)
    _install(given.pip, environment, "--find-links", given.wheels, *names)
    environment.tidy()
    for name in () if given.without_commands else names:
        environment.add_commands(name)


if __name__ == "__main__":
    main()
