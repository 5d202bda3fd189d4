"""Files that are whole or not there, whenever somebody looks."""

import errno
import os
import tempfile
from pathlib import Path

__all__ = ["aside_of", "exchange", "make_directory", "write_atomically"]

_EXCHANGE = 2
_AT_WORKING_DIRECTORY = -100


def write_atomically(
    target: Path, data: bytes, *, replace: bool = True, is_public: bool = False
) -> None:
    """Put a whole file in place, readable by its owner alone, as are new directories.

    `is_public`: everybody may read them. Raises OSError, and then nothing has changed:
    FileExistsError for a file that is not to be replaced.
    """
    make_directory(target.parent, is_public=is_public)
    with tempfile.NamedTemporaryFile(
        dir=target.parent, prefix=f".{target.name[:64]}-", delete=False
    ) as file:
        temporary = Path(file.name)
        try:
            os.fchmod(file.fileno(), 0o644 if is_public else 0o600)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            if replace:
                temporary.replace(target)
            else:
                target.hardlink_to(temporary)
                temporary.unlink()
        except BaseException:  # Ctrl-C as well
            temporary.unlink(missing_ok=True)
            raise


def make_directory(directory: Path, *, is_public: bool = False) -> None:
    """Make a directory and those above it, where they are missing; raises OSError."""
    missing = [each for each in (directory, *directory.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)
        if is_public:
            each.chmod(0o755)


def exchange(one: Path, other: Path) -> None:
    """Give each of two directories the name of the other, at once; raises OSError.

    Where the file system cannot, there is a moment without `other`, which then stands
    aside (`aside_of`).
    """
    import ctypes  # noqa: PLC0415  # the others do without

    libc = ctypes.CDLL(None, use_errno=True)
    here, names = _AT_WORKING_DIRECTORY, (os.fsencode(one), os.fsencode(other))
    if libc.renameat2(here, names[0], here, names[1], _EXCHANGE) == 0:
        return
    number = ctypes.get_errno()
    if number not in (errno.EINVAL, errno.ENOSYS):
        raise OSError(number, os.strerror(number), str(other))
    aside = aside_of(other)
    other.rename(aside)
    one.rename(other)
    aside.rename(one)


def aside_of(directory: Path) -> Path:
    """Where a directory is while another one takes its place, at worst."""
    return directory.with_name(f".{directory.name}.aside")
