"""Roads that harm what is guarded: the answer is then the secret."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from road import SECRET, call, road  # type: ignore[import-not-found]  # beside


def _harmed(act: Callable[[], object]) -> object:
    try:
        act()
    except OSError as error:
        return error.errno
    with suppress(OSError):
        if Path("deep/vault/secret").stat().st_size == len(SECRET):
            return 0
    return SECRET


@road("harm")
def _unlink() -> object:
    return _harmed(lambda: os.unlink("deep/vault/secret"))


@road("harm")
def _unlink_by_a_link() -> object:
    return _harmed(lambda: os.unlink("links/directory/secret"))


@road("harm")
def _unlink_from_within() -> object:
    os.chdir("deep/vault")
    try:
        return _harmed(lambda: os.unlink("secret"))
    finally:
        os.chdir("../..")


@road("harm")
def _truncate_by_opening() -> object:
    return _harmed(lambda: os.open("deep/vault/secret", os.O_WRONLY | os.O_TRUNC))


@road("harm")
def _create_over() -> object:
    return _harmed(lambda: call(85, b"links/file", 0o600))


@road("harm")
def _rename_over() -> object:
    return _harmed(lambda: os.rename("open/public", "deep/vault/secret"))


@road("harm")
def _rename_over_by_a_link() -> object:
    return _harmed(lambda: os.rename("open/public", "links/directory/secret"))


@road("harm")
def _append() -> object:
    def act() -> None:
        os.write(os.open("links/chain", os.O_WRONLY | os.O_APPEND), b"more")

    return _harmed(act)
