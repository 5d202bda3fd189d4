"""The places of a role's `writable` and `hidden`, as a session has them."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from types import MappingProxyType

from redlane.contexts.syscall.repositories import repository_of
from redlane.engine.hiding import Hidden, HiddenPlace
from redlane.engine.places import Places, is_within
from redlane.errors import RedlaneError
from redlane.policies.places import EXCEPT, MOVED_BY, PLACES
from redlane.policies.secrets import SECRETS, SOCKETS, Secret

__all__ = ["Surroundings", "concealed", "named", "resolved", "unreachable"]


_COPIES = ("", ".lock", ".new", ".bak", ".old", "~")
"""What programs add to the name of a file for another copy of it, beside it."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a session's places are meant from: absolute paths, as it was started."""

    home: str
    work: str
    temporary: str | None = None
    moved: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Where directories of the home are instead."""
    listening: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Where services listen, as the person's variables say."""

    @classmethod
    def of_this_process(cls) -> "Surroundings":
        """Those of the calling process."""
        home, temporary = (os.environ.get(each, "") for each in ("HOME", "TMPDIR"))
        home = home if home.startswith("/") else os.fspath(Path("~").expanduser())
        return cls(
            home,
            _working_directory(),
            temporary if temporary.startswith("/") else None,
            MappingProxyType(dict(_moved(home))),
            MappingProxyType(dict(_listening())),
        )


def _moved(home: str) -> Iterator[tuple[str, str]]:
    """What the person's variables say, unless all of the home would be meant."""
    for variable, place in MOVED_BY.items():
        path = os.environ.get(variable, "")
        if path.startswith("/") and not is_within(home, os.path.realpath(path)):
            yield place, path


def _listening() -> Iterator[tuple[str, str]]:
    """The directory for sockets, and some that lie elsewhere."""
    for name, variable in (
        ("run", "XDG_RUNTIME_DIR"),
        ("agent", "SSH_AUTH_SOCK"),
        ("docker", "DOCKER_HOST"),
        ("bus", "DBUS_SESSION_BUS_ADDRESS"),
    ):
        path = os.environ.get(variable, "").removeprefix("unix://")
        if name == "bus":  # an address of several parts, or several addresses
            path = re.split("[,;]", path.removeprefix("unix:path="))[0]
        if path.startswith("/"):
            yield name, path


def _working_directory() -> str:
    try:
        return os.fspath(Path.cwd())
    except FileNotFoundError:
        raise RedlaneError(
            "the working directory has been removed: change to another one"
        ) from None


def resolved(entries: Sequence[str], around: Surroundings) -> Places:
    """What a session may change."""
    lead = [each for each in entries if not each.startswith(EXCEPT)]
    wanted = [place for each in lead for place in PLACES.get(each, (each,))]
    wanted += [
        f"{path}{place.removeprefix(old)}"
        for place in wanted
        for old, path in around.moved.items()
        if is_within(place, old)
    ]
    writable: list[str] = []
    # The shorter first: what lies in a place may be a link that a session has made.
    for place in sorted(wanted, key=lambda each: each.count("/")):
        writable.append(_reached(place, around, writable))
    if "@work" in lead:
        writable += repository_of(around.work)
    if "@temporary" in lead and around.temporary:
        writable.append(_reached(around.temporary, around, writable))
    kept = [
        path
        for each in entries
        if each.startswith(EXCEPT)
        for place in PLACES.get(each.removeprefix(EXCEPT), (each.removeprefix(EXCEPT),))
        for path in _both(place, around)
    ]
    tops = [_reached(each, around, ()) for each in wanted if each in (".", "~")]
    return Places(*(tuple(dict.fromkeys(each)) for each in (writable, kept, tops)))


def concealed(entries: Sequence[str], around: Surroundings) -> Hidden:
    """What a session may not read."""
    hidden = named(entries, around)
    places = (
        replace(each, path=f"{each.path}{end}")
        for each in hidden.places
        for end in _COPIES
    )
    return replace(hidden, places=tuple(dict.fromkeys(places)))


def named(entries: Sequence[str], around: Surroundings) -> Hidden:
    """The same without the copies beside."""
    places: list[HiddenPlace] = []
    shown: list[str] = []
    for entry in entries:
        excepted = entry.startswith(EXCEPT)
        for secret in SECRETS.get(entry.removeprefix(EXCEPT), (Secret((entry,)),)):
            owners = frozenset(secret.owners)
            for place in secret.places:
                paths = tuple(_both(place.removeprefix(EXCEPT), around))
                if excepted or place.startswith(EXCEPT):
                    shown += paths
                else:
                    places += (HiddenPlace(each, owners) for each in paths)
    return Hidden(tuple(dict.fromkeys(places)), tuple(dict.fromkeys(shown)))


def unreachable(
    entries: Sequence[str], around: Surroundings
) -> tuple[HiddenPlace, ...]:
    """The Unix sockets that a session does not connect to, besides what is hidden."""
    found: list[HiddenPlace] = []
    free = {each.removeprefix(EXCEPT) for each in entries if each.startswith(EXCEPT)}
    shown = {path for each in free for path in _both(each, around)}
    names = [each for each in entries if each not in free]
    secrets = [each for name in names for each in SOCKETS.get(name, ())]
    for secret, values in product(secrets, tuple(_people(around))):
        owners = frozenset(secret.owners)
        for place in filter(None, (each.format(**values) for each in secret.places)):
            found += (HiddenPlace(each, owners) for each in _both(place, around))
    return tuple(dict.fromkeys(each for each in found if each.path not in shown))


def _people(around: Surroundings) -> Iterator[Mapping[str, str]]:
    """Whose sockets the session could connect to: root those of all who are there."""
    own, no = str(os.geteuid()), {"agent": "", "bus": "", "docker": ""}
    others = {
        each.name.rpartition("-")[2]
        for pattern in ("run/user/*", "tmp/tmux-*")
        for each in Path("/").glob(pattern)
    }
    for uid in (own, *sorted(others)) if own == "0" else (own,):
        yield {**no, "uid": uid, "run": f"/run/user/{uid}"}
    yield {**no, "uid": own, "run": f"/run/user/{own}", **around.listening}


def _both(place: str, around: Surroundings) -> Iterator[str]:
    """The place itself, and what it leads to where it is a link."""
    own = _reached(place, around, ())
    yield own
    if os.path.realpath(own) != own:
        yield os.path.realpath(own)


def _reached(place: str, around: Surroundings, held: Sequence[str]) -> str:
    """The canonical path of a place, though not of what it is a link to itself.

    A session may have put that link there, as it may have each one on the way that
    lies in a place which is `held`: neither leads to a place of the next session.
    """
    top, _, rest = place.partition("/")
    path = os.path.realpath({"~": around.home, ".": around.work}.get(top, "/"))
    *way, name = [each for each in rest.split("/") if each] or [""]
    for each in way:
        if not any(is_within(path, place) for place in held):
            path = os.path.realpath(f"{path}/{each}")
        else:
            path = f"{path.rstrip('/')}/{each}"
    return f"{path.rstrip('/')}/{name}" if name else path
