"""Real projects build in a guarded session as they do without one.

Each is built twice from the same files in the same place: plain, and in a session of
the starter role `developer`, where the text is judged as an agent types it. The small
projects are in `tests/data/builds`; `make corpus` fetches GNU hello and gzip. Nothing
is fetched here.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from scripts.corpus import SOURCE
from scripts.places import CORPUS
from spec.redlane_home import REDLANE, Home

PROJECTS = Path(__file__).parents[1] / "data" / "builds"
ROLE = "developer"
RUN = "import subprocess as s, sys; "
RUN += "sys.exit(s.run(['bash', '-c', sys.argv[1]]).returncode)"
"""The session's own command, which a person has typed; the text is the agent's."""
TOOLCHAINS = {"CARGO_HOME": ".cargo", "RUSTUP_HOME": ".rustup"}
"""Where whoever runs the tests may have a compiler, below their own home."""
MAVEN = "/usr/share/maven-repo"
MAVEN_PLUGINS = tuple(
    f"{MAVEN}/org/apache/maven/plugins/maven-{each}-plugin"
    for each in ("compiler", "jar", "resources", "surefire")
)
SAYS = r"says \w.*$"
AUTOMAKE = r"^# (?:TOTAL|PASS|SKIP|XFAIL|FAIL|XPASS|ERROR): +\d+$"
CTEST = r"^\d+% tests passed, .*$"


@dataclass(frozen=True, slots=True)
class Build:
    """A project, the text that builds, tests and runs it, and what that needs.

    `tells` are patterns of lines that say how it went; it has `seconds`.
    """

    project: str
    text: str
    tells: tuple[str, ...]
    needs: tuple[str, ...] = ()
    seconds: int = 300


BUILDS = {
    "GNU hello": Build(
        "bookworm-hello",
        "./configure && make && make check && ./hello",
        (AUTOMAKE, "^Hello, world!$"),
        seconds=600,
    ),
    "GNU gzip": Build(
        "bookworm-gzip",
        "./configure MAKEINFO=true && make && make check && "
        "echo says something | ./gzip -9 | ./gzip -d",
        (AUTOMAKE, SAYS),
        seconds=1200,
    ),
    "cmake and make": Build(
        "cmake",
        'mkdir out && cd out && cmake -DCMAKE_INSTALL_PREFIX="$PWD/installed" .. && '
        "make && ctest && make install && installed/bin/demo",
        (CTEST, SAYS),
        ("cmake",),
    ),
    "cmake and ninja": Build(
        "cmake",
        "cmake -S . -B out -G Ninja && cmake --build out && ctest --test-dir out && "
        "cmake --install out --prefix out/installed && out/installed/bin/demo",
        (CTEST, SAYS),
        ("cmake", "ninja"),
    ),
    "meson": Build(
        "meson",
        "meson setup out && ninja -C out && meson test -C out && "
        'DESTDIR="$PWD/installed" meson install -C out && '
        "installed/usr/local/bin/demo",
        (r"^(?:Ok|Fail): +\d+", SAYS),
        ("meson", "ninja"),
    ),
    "extension of Python": Build(
        "extension",
        f"{sys.executable} -m venv --without-pip venv && . venv/bin/activate && "
        f"PYTHONPATH={sysconfig.get_path('purelib')} python -m pip install "
        "--no-build-isolation --no-deps --no-index . && "
        "python -c 'import demo; print(demo.says())'",
        ("^Successfully installed .*$", SAYS),
    ),
    "npm": Build("npm", "npm ci --offline && npm test", (SAYS,), ("npm",)),
    "cargo": Build(
        "cargo",
        "cargo build --offline && cargo test --offline && target/debug/demo",
        (r"^test result: \w+\. \d+ passed; \d+ failed", SAYS),
        ("cargo",),
    ),
    "go": Build(
        "go",
        "go generate && go build && go vet && go test && ./demo",
        (r"^ok\s+\S+", SAYS),
        ("go",),
    ),
    "package of Debian": Build(
        "debian",
        "dpkg-buildpackage -us -uc -b -d -rfakeroot && dpkg-deb -c ../demo_1.0_*.deb",
        (r"^[-d]\S+ \S+ +\d+ .* \S+$", "daemon/bin .* ./usr/bin/demo$"),
        ("dpkg-buildpackage", "fakeroot"),
    ),
    "maven": Build(
        "maven",
        f"mvn -o -B -Dmaven.repo.local={MAVEN} -DskipTests package && "
        "java -cp target/demo-1.0.jar Demo",
        ("BUILD SUCCESS", SAYS),
        ("mvn", *MAVEN_PLUGINS),
    ),
}


@dataclass(frozen=True, slots=True)
class Built:
    """How a build has ended, what it has told, and every file that is there then.

    A header has its content, for what is found out about a machine stands in one.
    """

    code: int
    told: tuple[list[str], ...]
    files: list[str]
    errors: str = field(compare=False)


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Home]:
    """A home with the starter policies, its daemon running."""
    made = Home(tmp_path)
    assert made.run("init").code == 0
    made.start("--role", ROLE)
    yield made
    made.stop()


@pytest.mark.parametrize(
    "build",
    [
        pytest.param(build, id=name, marks=pytest.mark.timeout(build.seconds))
        for name, build in BUILDS.items()
    ],
)
def test_project_builds_in_a_session_as_it_does_without_one(
    guarded: Home, tmp_path: Path, build: Build
) -> None:
    _skip_without(build.needs)
    work = tmp_path / "work"
    environment = _environment(guarded, work / "cache")
    session = (REDLANE, "run", "--role", ROLE, "--")

    plain = _built(build, work, environment)
    work.rename(tmp_path / "plain")
    found = _built(build, work, environment, *session)

    assert plain.code == 0, plain.errors
    assert all(plain.told), plain.told
    assert _judged(guarded, "ALLOW")
    refused = [_judged(guarded, each) for each in ("BLOCK", "FLAG", "MODIFY")]
    assert refused == [[], [], []]
    assert not re.findall("^redlane:.*", found.errors, re.MULTILINE)
    assert found.code == 0, found.errors
    assert found == plain


def _skip_without(needs: tuple[str, ...]) -> None:
    for each in needs:
        if not (Path(each).exists() if "/" in each else shutil.which(each)):
            pytest.skip(f"NOT TESTED: no {each} here")


def _environment(home: Home, cache: Path) -> dict[str, str]:
    """What tools are told: where they are, and where to keep what they have made."""
    places = {
        name: os.environ.get(name) or str(Path.home() / usual)
        for name, usual in TOOLCHAINS.items()
    }
    return {
        **home.env,
        **{name: place for name, place in places.items() if Path(place).exists()},
        "PATH": os.environ["PATH"],
        "XDG_CACHE_HOME": str(cache),
        "npm_config_cache": str(cache / "npm"),
        "npm_config_update_notifier": "false",
        "CARGO_INCREMENTAL": "0",
        "GOFLAGS": "-mod=mod",
    }


def _built(
    build: Build, work: Path, environment: dict[str, str], *session: str | Path
) -> Built:
    """Build a project anew, in a session or plain."""
    tree = work / "project"
    _lay_out(build.project, tree)
    done = subprocess.run(
        (*session, sys.executable, "-c", RUN, build.text),
        cwd=tree,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    told = [re.findall(each, done.stdout, re.MULTILINE) for each in build.tells]
    files = [each for each in work.rglob("*") if "cache" not in each.parts]
    names = sorted(_described(each, work) for each in files)
    return Built(done.returncode, tuple(told), names, done.stderr)


def _described(file: Path, work: Path) -> str:
    name = str(file.relative_to(work))
    return f"{name}: {file.read_text('utf-8')}" if file.suffix == ".h" else name


def _lay_out(project: str, tree: Path) -> None:
    """Put the files of a project where it is built, their times as they were."""
    if (PROJECTS / project).is_dir():
        shutil.copytree(PROJECTS / project, tree, symlinks=True)
        return
    sources = list((CORPUS / project).glob(f"{SOURCE}.*"))
    if not sources:
        pytest.skip("NOT TESTED: `make corpus` has not been run")
    tree.mkdir(parents=True)
    unpack = ("tar", "--no-same-owner", "--strip-components=1", "-C", tree)
    subprocess.run((*unpack, "-xf", *sources), check=True)


def _judged(home: Home, verdict: str) -> list[str]:
    """What was judged so, and why: also what nobody was told of."""
    events = home.control.get(f"/api/events?verdict={verdict}").json["events"]
    return [f"{each['policy']}: {each['reason']}: {each['content']}" for each in events]
