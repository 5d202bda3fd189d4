"""Take roads to a file that no policy lets anybody open, and to what guards it.

Usage: take.py PLACE GROUP [fresh]. PLACE gets the layout of `lay`. Prints one JSON
object: to each road of the group, what came of it: LEAK, or how it failed. With `fresh`
the layout is made anew before each, which only works where nothing is guarded.
"""

import errno
import json
import os
import select
import signal
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from road import ROADS, SECRET, Road, lay  # type: ignore[import-not-found]  # beside

MODULES = (
    *("spellings", "links", "proc", "views", "moving", "harm", "closed"),
    "supervisors",
)
PATIENCE = 10.0


def outcome(function: Road) -> str:
    """What comes of a road, taken by a process of its own."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        os.setpgid(0, 0)
        try:
            found = function()
        except OSError as error:
            found = error.errno
        except BaseException as error:  # noqa: BLE001  # told to the test
            found = repr(error)
        if isinstance(found, bytes):
            text = "LEAK" if SECRET in found else f"other: {found!r}"
        elif isinstance(found, int):
            text = errno.errorcode.get(found, str(found))
        else:
            text = str(found)
        os.write(writing, text.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        ready = select.select([pipe], [], [], PATIENCE)[0]
        text = pipe.read1(1000).decode() if ready else "HANGS"
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    return text or f"ended with {os.waitstatus_to_exitcode(status)}"


def main(place: str, group: str, *fresh: str) -> None:
    """Take all roads of a group, one after the other."""
    for each in MODULES:
        import_module(each)
    os.chdir(place)
    found = {}
    for name, function in ROADS[group].items():
        if fresh:
            lay(Path(place))
        found[name] = outcome(function)
    print(json.dumps(found))  # noqa: T201  # the answer


if __name__ == "__main__":
    main(*sys.argv[1:])
