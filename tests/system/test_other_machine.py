"""Wheels that are built here for another machine hold what runs there.

qemu runs a program of that machine; what the program becomes is of this one.
"""

import os
import re
import shutil
import struct
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from distributions import ROOT
from spec.redlane_home import Home, Ran

OTHER, OTHERS_ELF, OTHERS_DEBIAN = "aarch64", 183, "arm64"
TOOLS = (f"{OTHER}-linux-gnu-gcc", f"qemu-{OTHER}-static")
MISSING = [each for each in TOOLS if shutil.which(each) is None]
EMULATOR = TOOLS[1]

pytestmark = pytest.mark.skipif(
    bool(MISSING) or os.uname().machine == OTHER,
    reason=f"NOT TESTED: no {MISSING}: run packaging/test-packages.sh",
)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Wheels of all our distributions for the other machine."""
    place = tmp_path_factory.mktemp("wheels")
    script = ROOT / "packaging" / "build-wheels.sh"
    subprocess.run([script, sys.executable, place, OTHER], check=True)
    return place


@pytest.fixture(scope="module")
def unpacked(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What those wheels hold that is for one kind of machine."""
    place = tmp_path_factory.mktemp("unpacked")
    for wheel in wheels.glob(f"*{OTHER}.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(place)
    return place


@pytest.fixture(scope="module")
def programs(unpacked: Path) -> Path:
    """The directory of the compiled programs, which may be run."""
    place = unpacked / "redlane/contexts/shell/bin"
    for each in place.iterdir():
        each.chmod(0o755)
    return place


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    """A daemon of this machine that blocks `rm -rf`."""
    made = Home(tmp_path)
    policy = {"id": "no-rm", "type": "Simple", "action": "Block", "pattern": "rm -rf"}
    made.policies({**policy, "context": "Shell"})
    made.role("guard", "no-rm")
    made.start("--role", "guard")
    yield made
    assert made.run("stop").code == 0


def emulated(home: Home, program: Path, *words: str) -> Ran:
    """Run a program of the other machine to its end."""
    emulator = shutil.which(EMULATOR)
    assert emulator
    return home.run(program, *words, program=Path(emulator))


def test_wheels_name_the_machine(wheels: Path) -> None:
    named = {each.name for each in wheels.glob(f"*{OTHER}.whl")}
    any_libc = f"manylinux_2_17_{OTHER}.manylinux2014_{OTHER}.musllinux_1_1_{OTHER}"
    (core,) = (each for each in named if each.startswith("redlane-"))
    assert core.endswith(f"-py3-none-{any_libc}.whl")
    (context,) = named - {core}
    assert re.search(rf"-cp311-abi3-manylinux_2_\d+_{OTHER}\.whl$", context)
    rest = {each.name for each in wheels.iterdir()} - named
    assert all(each.endswith("-py3-none-any.whl") for each in rest)


def test_all_that_is_compiled_is_for_the_machine(unpacked: Path) -> None:
    machines = {}
    for path in unpacked.rglob("*"):
        head = path.read_bytes()[:20] if path.is_file() else b""
        if head.startswith(b"\x7fELF"):
            machines[path.name] = struct.unpack_from("<H", head, 18)[0]
    names = ("redlane-sh", "redlane-run", "_hot.abi3.so")
    assert machines == dict.fromkeys(names, OTHERS_ELF)


def test_shell_runs_what_the_daemon_allows_and_nothing_else(
    programs: Path, home: Home
) -> None:
    shell = programs / "redlane-sh"
    allowed = emulated(home, shell, "-c", "echo ran; exit 3")
    assert (allowed.code, allowed.out, allowed.err) == (3, "ran\n", "")
    blocked = emulated(home, shell, "-c", "echo ran; rm -rf /nowhere")
    assert (blocked.code, blocked.out) == (126, "")
    assert "no-rm" in blocked.refusal


def test_supervisor_starts_and_reads_its_command_line(
    programs: Path, home: Home
) -> None:
    ran = emulated(home, programs / "redlane-run", "--socket", "nowhere")
    assert ran.code == 2
    assert "usage: redlane-run --socket PATH" in ran.refusal


@pytest.fixture
def python_there(tmp_path: Path) -> Iterator[list[str | Path]]:
    """How to start the oldest Python that is supported, of the other machine."""
    tree = tmp_path / "tree"
    subprocess.run(
        [
            *("mmdebstrap", "--quiet", f"--architectures={OTHERS_DEBIAN}"),
            *("--variant=extract", "--include=python3.11-minimal", "bookworm", tree),
        ],
        check=True,
    )
    yield [EMULATOR, "-L", tree, tree / "usr/bin/python3.11", "-IS"]
    shutil.rmtree(tree)


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: root makes that tree")
def test_extension_is_one_of_the_oldest_python_there(
    unpacked: Path, python_there: list[str | Path]
) -> None:
    found = f"import sys; sys.path.append('{unpacked}/redlane_context_syscall')"
    program = f"{found}; import _hot, platform; print(platform.machine(), _hot.HotLoop)"
    done = subprocess.run(
        [*python_there, "-c", program],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split()[0] == OTHER, done
    assert "HotLoop" in done.stdout
