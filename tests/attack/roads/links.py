"""Roads over symbolic and hard links."""

import os

from road import AT_FDCWD, O_PATH, call, content, road  # type: ignore[import-not-found]  # beside


@road("read")
def _symbolic_link() -> object:
    return content("links/file")


@road("read")
def _link_to_the_directory() -> object:
    return content("links/directory/secret")


@road("read")
def _chain_of_links() -> object:
    return content("links/chain")


@road("read")
def _forty_links() -> object:
    return content("links/long34")


@road("read")
def _link_that_is_no_utf8() -> object:
    return content(b"links/not \xff utf-8\n")


@road("read")
def _link_through_a_process() -> object:
    return content("links/process")


@road("read")
def _link_through_the_working_directory() -> object:
    return content("links/working")


@road("read")
def _link_of_its_own() -> object:
    os.symlink(os.path.abspath("deep"), "mine")
    try:
        return content("mine/vault/secret")
    finally:
        os.unlink("mine")


@road("read")
def _hard_link() -> object:
    os.link("deep/vault/secret", "hard")
    return content("hard")


@road("read")
def _hard_link_through_a_link() -> object:
    os.link("links/file", "hard", follow_symlinks=True)
    return content("hard")


@road("read")
def _hard_link_from_a_directory() -> object:
    directory = os.open("deep/vault", O_PATH)
    call(265, directory, b"secret", AT_FDCWD, b"hard", 0)
    return content("hard")


@road("read")
def _hard_link_from_a_descriptor() -> object:
    number = os.open("deep/vault/secret", O_PATH)
    path = f"/proc/self/fd/{number}".encode()
    call(265, AT_FDCWD, path, AT_FDCWD, b"hard", 0x400)
    return content("hard")


@road("read")
def _hard_link_from_an_empty_path() -> object:
    number = os.open("deep/vault/secret", O_PATH)
    call(265, number, b"", AT_FDCWD, b"hard", 0x1000)
    return content("hard")
