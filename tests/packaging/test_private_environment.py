"""A package's environment has what its wheels hold, and nothing of who built it."""

import io
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

import pytest
from distributions import ROOT

SCRIPT = ROOT / "packaging" / "private_environment.py"
SERIES = f"{sys.version_info[0]}.{sys.version_info[1]}"
PREFIX = "/usr/lib/acme"


@dataclass(frozen=True)
class Build:
    """Wheels of ours and of others, and the root of a package to be."""

    place: Path

    @property
    def root(self) -> Path:
        return self.place / "root"

    @property
    def environment(self) -> Path:
        return self.root / PREFIX[1:]

    @property
    def site(self) -> Path:
        return self.environment / "lib" / f"python{SERIES}" / "site-packages"

    def wheel(self, name: str) -> Path:
        """A wheel with a module and a command; and our sources of that name."""
        info = f"{name}-1.0.dist-info"
        path = self.place / f"{name}-1.0-py3-none-any.whl"
        files = {
            f"{name}.py": "def main():\n    return 0\n",
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
            f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n"
            "Tag: py3-none-any\n",
            f"{info}/entry_points.txt": f"[console_scripts]\n{name} = {name}:main\n",
        }
        with ZipFile(path, "w") as archive:
            for file, text in files.items():
                archive.writestr(file, text)
            record = "".join(f"{file},,\n" for file in (*files, f"{info}/RECORD"))
            archive.writestr(f"{info}/RECORD", record)
        (self.place / name).mkdir()
        project = f'[project]\nname = "{name}"\n'
        (self.place / name / "pyproject.toml").write_text(project)
        return path

    def fill(self, locked: str, *more: str) -> "subprocess.CompletedProcess[str]":
        (self.place / "locked.txt").write_text(locked)
        return subprocess.run(
            [
                *(sys.executable, SCRIPT, "--pip", sys.executable, "--series", SERIES),
                *("--wheelhouse", self.place, "--wheels", self.place),
                *("--locked", self.place / "locked.txt", *more),
                *(self.root, PREFIX, self.place / "ours"),
            ],
            capture_output=True,
            text=True,
            check=False,
        )


def pinned(wheel: Path) -> str:
    done = subprocess.run(
        ["sha256sum", wheel], capture_output=True, text=True, check=True
    )
    return f"theirs==1.0 --hash=sha256:{done.stdout.split()[0]}\n"


@pytest.fixture
def build(tmp_path: Path) -> Build:
    made = Build(tmp_path)
    made.wheel("ours")
    return made


def test_environment_has_both_and_a_command_of_ours_alone(build: Build) -> None:
    done = build.fill(pinned(build.wheel("theirs")))
    assert done.returncode == 0, done.stderr
    assert {each.stem for each in build.site.glob("*.py")} == {"ours", "theirs"}
    (command,) = (build.root / "usr" / "bin").iterdir()
    assert command.name == "ours"
    assert command.read_text().startswith(f"#!{PREFIX}/bin/python3 -I\n")
    assert not (build.site / "bin").exists()


def test_environment_is_one_and_sees_what_debian_has(build: Build) -> None:
    build.fill("")
    python = build.environment / "bin" / "python3"
    assert python.readlink() == Path("/usr/bin/python3")
    code = "import sys, ours; print(sys.prefix); print(*sys.path, sep='\\n')"
    done = subprocess.run(
        [python, "-IB", "-c", code], capture_output=True, text=True, check=True
    )
    prefix, *path = done.stdout.splitlines()
    assert prefix == str(build.environment)
    private, shared = path.index(str(build.site)), "/usr/lib/python3/dist-packages"
    assert private < path.index(shared)


def test_nothing_tells_where_it_was_built(build: Build) -> None:
    build.fill(pinned(build.wheel("theirs")))
    everything = build.root.rglob("*")
    files = [each for each in everything if each.is_file() and not each.is_symlink()]
    assert not [each for each in files if str(build.place) in each.read_text()]
    records = [each.read_text() for each in build.site.glob("*/RECORD")]
    assert len(records) == 2
    assert not [each for each in records if ".." in each]
    assert not list(build.root.rglob("__pycache__"))


def test_wheel_of_another_hash_is_refused(build: Build) -> None:
    line = pinned(build.wheel("theirs"))
    hashed = line.rindex(":") + 1
    wrong = line[:hashed] + "0" * 64
    assert build.fill(wrong).returncode
    assert not (build.site / "theirs.py").exists()


def test_layer_is_no_environment_of_its_own(build: Build) -> None:
    done = build.fill("", "--layer")
    assert done.returncode == 0, done.stderr
    assert (build.site / "ours.py").exists()
    assert {each.name for each in build.environment.iterdir()} == {"lib"}


def test_environment_without_commands_has_none(build: Build) -> None:
    done = build.fill("", "--without-commands")
    assert done.returncode == 0, done.stderr
    assert (build.site / "ours.py").exists()
    assert not (build.root / "usr" / "bin").exists()


def test_closed_environment_sees_nothing_else(build: Build) -> None:
    done = build.fill("", "--closed")
    assert done.returncode == 0, done.stderr
    assert (build.root / "usr" / "bin" / "ours").exists()
    code = "import sys, ours; print(*sys.path, sep='\\n')"
    python = build.environment / "bin" / "python3"
    listed = subprocess.run(
        [python, "-IB", "-c", code], capture_output=True, text=True, check=True
    )
    assert str(build.site) in listed.stdout
    assert "dist-packages" not in listed.stdout


def source_of(build: Build) -> Path:
    """A source release without a word of how it is built, as old ones are."""
    path = build.place / "theirs-1.0.tar.gz"
    files = {
        "setup.py": "from setuptools import setup\n"
        "setup(name='theirs', version='1.0', py_modules=['theirs'])\n",
        "theirs.py": "",
        "PKG-INFO": "Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n",
    }
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(f"theirs-1.0/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return path


def test_source_is_built_where_it_is_asked_for_alone(build: Build) -> None:
    line = pinned(source_of(build))
    assert build.fill(line).returncode
    shutil.rmtree(build.root)
    done = build.fill(line, "--source", "theirs")
    assert done.returncode == 0, done.stderr
    assert (build.site / "theirs.py").exists()
