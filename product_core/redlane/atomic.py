"""Files that are whole or not there, whenever somebody looks."""

import os
import tempfile
from pathlib import Path

__all__ = ["write_atomically"]


def write_atomically(target: Path, data: bytes, *, replace: bool = True) -> None:
    """Put a whole file in place, readable by its owner alone, as are new directories.

    Raises OSError, and then nothing has changed: FileExistsError for a file that is not
    to be replaced.
    """
    missing = [each for each in target.parents if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)
    with tempfile.NamedTemporaryFile(
        dir=target.parent, prefix=f".{target.name[:64]}-", delete=False
    ) as file:
        temporary = Path(file.name)
        try:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            if replace:
                temporary.replace(target)
            else:
                target.hardlink_to(temporary)
                temporary.unlink()
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
