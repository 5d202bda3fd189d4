"""Independent test suites fail supervised exactly where they fail alone.

CPython's own tests of the file system, processes and terminals are a Debian package. A
suite of POSIX file-system tests of the form of pjdfstest, built, is taken from the
directory that REDLANE_PJDFSTEST names. A session may make no devices, so neither may
what runs alone; and its policy flags, for one that blocks takes a path that cannot be
read for a match (Syscall policy rule 3).
"""

import json
import os
import re
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor as Threads
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from supervised import ONE_OF_PEOPLE, Guarded, guarded, person_named, place_on, watching

DRIVER = Path(__file__).with_name("posix_driver.py")
SUITE = os.environ.get("REDLANE_PJDFSTEST", "")
PYTHON = "/usr/bin/python3"
DEVICE = r"not ok [0-9]+ - tried 'mknod \S+ [bc] "
SHORT = ("open", "unlink", "rmdir", "rename")
"""What is done in the caller's place is tested by these folders of the suite."""

Results = dict[str, Any]


@pytest.fixture(scope="module", params=["tmpfs", "ext4"])
def file_system(request: pytest.FixtureRequest) -> Iterator[Path]:
    with place_on(request.param) as place:
        yield place


@pytest.fixture(scope="module", params=ONE_OF_PEOPLE)
def there(request: pytest.FixtureRequest, file_system: Path) -> Iterator[Guarded]:
    """A daemon, and a working directory on each of the file systems."""
    person = replace(person_named(request.param), lacks="mknod")
    with guarded(person, file_system) as made:
        made.renew_work()
        made.home.policies(watching() | {"action": "Flag"})
        made.start()
        yield made


def _suite_said(place: Guarded, folders: tuple[str, ...], *, watched: bool) -> Results:
    place.renew_work()
    result = place.base / "home" / f"result-{watched}.json"
    run = place.supervised if watched else place.alone
    words = ["/usr/bin/python3", "-I", DRIVER, SUITE, result, *folders]
    ran = run(*words, deadline=1500)
    assert ran.code == 0, ran
    found = json.loads(result.read_text())
    assert isinstance(found, dict)
    return found


def _told(result: Any) -> Any:
    """What is to be the same: not the lines, which tell names made by chance.

    A device is refused to a session before the kernel looks at its path and finds
    something else wrong with it, and the kernel's own null device (0, 0) is, too: of
    scripts that make devices only how much they did is compared.
    """
    if not isinstance(result, dict):
        return result
    makes_devices = re.search(DEVICE, "\n".join(result["lines"]))
    failed = None if makes_devices else result["failed"]
    return {"code": result["code"], "ran": result["ran"], "failed": failed}


def _different(alone: Results, watched: Results) -> Results:
    return {
        name: {"alone": alone.get(name), "supervised": watched.get(name)}
        for name in alone.keys() | watched.keys()
        if _told(alone.get(name)) != _told(watched.get(name))
    }


def _compare(alone: Results, watched: Results) -> None:
    differences = _different(alone, watched)
    assert not differences, json.dumps(differences, indent=1, sort_keys=True)


needs_suite = pytest.mark.skipif(
    not SUITE,
    reason="NOT TESTED: REDLANE_PJDFSTEST names no built POSIX file-system test suite",
)


@needs_suite
@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "folders",
    [pytest.param(SHORT, id="emulated"), pytest.param((), id="all")],
)
def test_posix_suite_fails_where_it_fails_alone(
    there: Guarded, folders: tuple[str, ...]
) -> None:
    alone = _suite_said(there, folders, watched=False)
    assert alone

    watched = _suite_said(there, folders, watched=True)

    _compare(alone, watched)


QUICK = (
    *("test_posix", "test_file", "test_fileio", "test_genericpath", "test_glob"),
    *("test_pathlib", "test_pty", "test_tempfile", "test_mmap"),
)
THOROUGH = (
    *("test_os", "test_shutil", "test_subprocess", "test_fcntl", "test_tarfile"),
    *("test_zipfile", "test_io", "test_signal", "test_multiprocessing_fork"),
    *("test_openpty", "test_largefile", "test_ioctl", "test_fileinput", "test_dbm"),
    *("test_asyncio.test_subprocess", "test_asyncio.test_unix_events", "test_import"),
    *("test_socket", "test_threading", "test_venv", "test_zipimport", "test_selectors"),
)


def _python_has_its_tests() -> bool:
    words = [PYTHON, "-c", "import test.test_os"]
    try:
        return subprocess.run(words, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


needs_python = pytest.mark.skipif(
    not _python_has_its_tests(),
    reason="NOT TESTED: apt install libpython3.11-testsuite, or that of your Python",
)


def _python_said(
    place: Guarded, names: tuple[str, ...], *, watched: bool, only: Iterable[str] = ()
) -> Results:
    """The outcome of each test, or of those in `only`."""
    place.renew_work()
    result = place.base / "home" / f"result-{watched}.xml"
    run = place.supervised if watched else place.alone
    quiet = ["-W", "ignore", "-m", "test", "-q", "--tempdir", str(place.work)]
    # Two of those at once wait for each other: their port is the machine's only one.
    left_out = ["-i", "*VSOCK*"]
    # These look for a free port, and bind it later: the other may have it by then.
    left_out += ["-i", "*test_dual_stack_client_v*"]
    # A call that is stopped may be interrupted before it is seen: docs/syscalls.md.
    left_out += ["-i", "*test_stress_delivery_simultaneous*"]
    chosen = [word for each in only for word in ("-m", each)]
    words = [PYTHON, *quiet, *left_out, *chosen, "--junit-xml", result, *names]
    ran = run(*words, deadline=1500)
    assert result.exists(), ran
    found: Results = {}
    for case in ET.parse(result).iter("testcase"):
        ended = [child.tag for child in case if child.tag in ("failure", "error")]
        name = f"{case.get('name')}"
        found[name] = [case.get("status"), case.get("result"), *ended]
    return found


@needs_python
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "names",
    [
        pytest.param(QUICK, id="quick"),
        pytest.param(THOROUGH, id="thorough", marks=pytest.mark.soak),
    ],
)
@pytest.mark.parametrize("who", ONE_OF_PEOPLE)
def test_cpythons_tests_fail_where_they_fail_alone(
    who: str, names: tuple[str, ...]
) -> None:
    person = person_named(who)
    with guarded(person) as free, guarded(person) as place, Threads(1) as side:
        for each in (free, place):
            # Some name long files, which take a machine that is busy seconds to judge.
            each.home.settings(sevsh={"validation_timeout_seconds": 60})
            each.start()
        running = side.submit(_python_said, free, names, watched=False)

        watched = _python_said(place, names, watched=True)

        alone = running.result()
        assert len(alone) > len(names), alone
        # Some wait so long for a process and then fail, which a busy machine brings
        # about on either side: what is due to the supervision is there once more.
        again = _different(alone, watched)
        if again:
            alone = _python_said(free, names, watched=False, only=again)
            watched = _python_said(place, names, watched=True, only=again)
            assert alone.keys() | watched.keys() >= again.keys(), again
            _compare(alone, watched)
