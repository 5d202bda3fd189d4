"""Files keep the paths that policies know them by, wherever they are mounted."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from supervised import PEOPLE, Guarded, guarded, person_named, watching

SECRET = "TOPSECRET\n"
READ = "cat top/x/secret || cat y/secret || cat z/x/secret || cat y; true"
WAYS = {
    "directory": "mkdir y && mount --bind top/x y",
    "what is above": "mkdir z && mount --rbind top z",
    "file": "true > y && mount --bind top/x/secret y",
}


@pytest.fixture(scope="module", params=PEOPLE)
def place(request: pytest.FixtureRequest) -> Iterator[Guarded]:
    with guarded(person_named(request.param)) as made:
        opens = watching(["open", "openat"], "secret")
        made.home.policies(watching(), opens | {"pattern": "/top/x/secret$"})
        made.home.role("boxes", "secret", namespaces="allow")
        made.home.role("plain", "secret")
        made.start()
        yield made


@pytest.fixture
def work(place: Guarded) -> Path:
    """A directory with a file that the roles block."""
    place.renew_work()
    ran = place.alone(
        "/bin/sh", "-c", f"mkdir -p top/x; printf {SECRET!r} > top/x/secret"
    )
    assert ran.code == 0, ran
    return place.work


@pytest.mark.usefixtures("work")
@pytest.mark.parametrize("way", WAYS)
def test_what_a_session_mounts_elsewhere_is_judged_where_it_comes_from(
    place: Guarded, way: str
) -> None:
    words = ("unshare", "-rm", "/bin/sh", "-c", f"{WAYS[way]} && echo mounted; {READ}")
    alone = place.alone(*words)
    if "mounted" not in alone.out:
        pytest.skip("NOT TESTED: no namespaces are to be had here")
    assert SECRET in alone.out
    place.alone("/bin/sh", "-c", "rm -rf y z")

    ran = place.supervised(*words, role="boxes")

    assert "mounted" in ran.out, ran
    assert SECRET not in ran.out, ran


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: root mounts")
def test_what_was_mounted_before_a_session_is_judged_where_it_comes_from(
    place: Guarded, work: Path
) -> None:
    before = work / "y"
    before.mkdir()
    mounted = subprocess.run(["mount", "--bind", work / "top", before], check=False)
    if mounted.returncode:
        pytest.skip("NOT TESTED: nothing is mounted here")
    try:
        ran = place.supervised("/bin/sh", "-c", "cat y/x/secret; ls y", role="plain")
    finally:
        subprocess.run(["umount", before], check=True)

    assert (ran.out, "not permitted" in ran.err) == ("x\n", True), ran
