"""Roads that move what is guarded to where it is not."""

import os

from road import AT_FDCWD, call, content, road  # type: ignore[import-not-found]  # beside


@road("read")
def _rename_the_file() -> object:
    os.rename("deep/vault/secret", "moved")
    return content("moved")


@road("read")
def _rename_its_directory() -> object:
    os.rename("deep/vault", "moved")
    return content("moved/secret")


@road("read")
def _rename_a_directory_above() -> object:
    os.rename("deep", "moved")
    return content("moved/vault/secret")


@road("read")
def _rename_by_its_link() -> object:
    os.rename("links/directory/secret", "moved")
    return content("moved")


@road("read")
def _rename_from_directories() -> object:
    directory = os.open("deep", os.O_RDONLY)
    call(264, directory, b"vault/secret", AT_FDCWD, b"moved")
    return content("moved")


@road("read")
def _exchange() -> object:
    call(316, AT_FDCWD, b"open/public", AT_FDCWD, b"deep/vault/secret", 2)
    return content("open/public")


@road("read")
def _exchange_the_directory() -> object:
    call(316, AT_FDCWD, b"open", AT_FDCWD, b"deep/vault", 2)
    return content("open/secret")


@road("read")
def _exchange_a_directory_above() -> object:
    call(316, AT_FDCWD, b"open", AT_FDCWD, b"deep", 2)
    return content("open/vault/secret")
