"""A program that owns keys reads them, and no library that an option has it load.

Held by either who can hide files from a session.
"""

import shutil
import subprocess
from collections.abc import Iterator

import pytest
from calls_home import needs_filters
from supervised import Guarded, guarded, person_named, watching

pytestmark = [
    needs_filters,
    pytest.mark.skipif(
        not (shutil.which("ssh-keygen") and shutil.which("cc")),
        reason="NOT TESTED: there is no ssh-keygen, or no C compiler",
    ),
]

READING = """
#include <stdio.h>
__attribute__((constructor)) static void show(void) {
    char text[64] = "";
    FILE *file = fopen(KEY, "r");
    if (!file || !fgets(text, sizeof text, file)) perror("library");
    printf("read %s.\\n", text);
    fflush(stdout);
}
long C_GetFunctionList(void) { return 1; }
"""


@pytest.fixture(scope="module")
def home() -> Iterator[Guarded]:
    with guarded(person_named("root")) as made:
        made.home.policies(watching())
        made.home.role("plugin", "watch", hidden=["@keys"])
        made.home.role("redlane-run", hidden=["@keys"])
        made.home.role("signing", hidden=["@keys"], writable=["@work", "@caches"])
        (made.home.user / ".ssh").mkdir(mode=0o700)
        source = made.base / "library.c"
        source.write_text(READING.replace("KEY", f'"{made.home.user}/.ssh/key"'))
        library = str(made.base / "library.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
        made.start()
        yield made


@pytest.mark.parametrize("holder", ["plugin", "redlane-run"])
def test_owner_that_has_loaded_code_of_others_is_none(
    home: Guarded, holder: str
) -> None:
    home.renew_work()
    key = home.home.user / ".ssh" / holder
    making = f"ssh-keygen -q -t ed25519 -N '' -f {key} && ssh-keygen -y -f {key}"
    ran = home.supervised("sh", "-c", making, role=holder)
    assert ran.out.startswith("ssh-ed25519 "), ran
    key.rename(key.with_name("key"))
    loading = f"ssh-keygen -D {home.base}/library.so"
    ran = home.supervised("sh", "-c", loading, role=holder)
    assert "read .\n" in ran.out, ran
    assert "Operation not permitted" in ran.err
    assert "PRIVATE" in home.alone("sh", "-c", loading).out


@pytest.mark.skipif(not shutil.which("gpg"), reason="NOT TESTED: there is no gpg")
def test_owner_signs_where_it_may_only_lock(home: Guarded) -> None:
    home.renew_work()
    making = "gpg -q --batch --passphrase '' --quick-gen-key 'A <a@b.c>' && git init -q"
    home.alone("sh", "-ec", making)
    commit = "git -c user.name=A -c user.email=a@b.c commit -qS --allow-empty -m signed"
    ran = home.supervised("sh", "-ec", commit, role="signing")
    assert ran.code == 0, ran
    shown = home.alone("sh", "-ec", "git log -1 --format=%G?; gpgconf --kill all")
    assert shown.out == "G\n", shown
