"""Real programs do under supervision what they do alone: status, output and tree.

The role names every system call that is done in the caller's place, and blocks
nothing that the programs use. What they do stands in `programs/`, one bash script each,
which finds its working directory empty and `$DATA` with what the test has laid there.
A script prints and leaves nothing that depends on time, process numbers or chance; its
first lines say what it needs, which files differ all the same, and whether it is slow.
"""

import shutil
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

import pytest
from distributions import ROOT
from spec.redlane_home import Ran
from supervised import ONE_OF_PEOPLE, Guarded, guarded, person_named, tree_of

SCRIPTS = Path(__file__).with_name("programs")
DEADLINE = 110.0


@dataclass(frozen=True)
class Program:
    """What a script says about itself."""

    name: str
    script: str
    needs: tuple[str, ...]
    differs: tuple[str, ...]
    slow: bool

    @classmethod
    def read(cls, path: Path) -> "Program":
        script = path.read_text()
        heads = takewhile(lambda line: line.startswith("# "), script.splitlines())
        said = {
            name: tuple(value.split())
            for name, _, value in (each[2:].partition(":") for each in heads)
        }
        needs, differs = said.get("needs", ()), said.get("differs", ())
        return cls(path.stem, script, needs, differs, "slow" in said)


PROGRAMS = [Program.read(each) for each in sorted(SCRIPTS.glob("*.sh"))]


@pytest.fixture(scope="module", params=ONE_OF_PEOPLE)
def place(request: pytest.FixtureRequest) -> Iterator[Guarded]:
    with guarded(person_named(request.param)) as made:
        _lay(made.base / "data")
        made.start()
        yield made


def _lay(data: Path) -> None:
    """A small C project, a wheel, and a tree of 400 files."""
    source = ROOT / "product_core" / "redlane" / "wrapper"
    (data / "source").mkdir(parents=True)
    for each in sorted(source.glob("*.[ch]")):
        shutil.copy(each, data / "source")
    for directory in range(20):
        below = data / "many" / str(directory)
        below.mkdir(parents=True)
        for number in range(20):
            (below / str(number)).write_text(f"{directory} {number}\n" * number * 9)
    _write_wheel(data / "greeting-1.0-py3-none-any.whl")


def _write_wheel(path: Path) -> None:
    info = "greeting-1.0.dist-info"
    files = {
        "greeting.py": "def main():\n    print('hello from a wheel')\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: greeting\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nTag: py3-none-any\nRoot-Is-Purelib: true",
        f"{info}/entry_points.txt": "[console_scripts]\ngreeting = greeting:main\n",
    }
    record = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in {**files, f"{info}/RECORD": record}.items():
            wheel.writestr(name, text)


def _script(place: Guarded, program: Program) -> list[str | Path]:
    """The words that run a program's script; bash itself, not what stands for it."""
    script = place.base / f"{program.name}.sh"
    script.write_text(
        f"export DATA={place.base}/data PIP={sys.executable}\n{program.script}"
    )
    script.chmod(0o644)
    return ["/bin/bash", script]


def _outcome(
    place: Guarded, program: Program, *, supervised: bool
) -> tuple[Ran, dict[str, str]]:
    place.renew_work()
    words = _script(place, program)
    run = place.supervised if supervised else place.alone
    ran = run(*words, deadline=DEADLINE)
    return ran, tree_of(place.work, program.differs)


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(each, id=each.name, marks=[pytest.mark.slow] * each.slow)
        for each in PROGRAMS
    ],
)
@pytest.mark.timeout(300)
def test_program_does_supervised_what_it_does_alone(
    place: Guarded, program: Program
) -> None:
    missing = [each for each in program.needs if not shutil.which(each)]
    if missing:
        pytest.skip(f"NOT TESTED: THERE IS NO {' '.join(missing)}")
    alone, tree = _outcome(place, program, supervised=False)

    supervised, tree_supervised = _outcome(place, program, supervised=True)

    assert supervised == alone
    assert tree_supervised == tree
