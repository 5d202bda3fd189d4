"""Paths: operations to Falcon routes, overlapping paths included.

`GET /artifacts/{name}/{version}` must also serve the version named `yank`, though
`/artifacts/{artifact_id}/yank` is a path of its own. So wherever two paths can meet, a
route for the meeting point offers the methods of both, the more literal one first.
Paths are taken literally: one that names a segment by nothing at all is no route.
"""

import itertools
import re
from collections.abc import Iterable, Sequence
from typing import Any

import falcon
from falcon.routing import CompiledRouter

from redlane_hub.http.operations import Bound

__all__ = ["QuickPaths", "Route", "Router", "routes"]


class Route:
    """One Falcon template, with the operation of each method and its path's names."""

    def __init__(self, segments: tuple[str, ...]) -> None:
        self.segments = segments
        self.bound: dict[str, Bound] = {}

    @property
    def template(self) -> str:
        """As Falcon takes it: fields are named after their place."""
        return "/" + "/".join(
            f"{{p{place}}}" if _is_field(segment) else segment
            for place, segment in enumerate(self.segments)
        )

    @property
    def advertised(self) -> list[str]:
        """The methods that `Allow` names: those of the most literal path only.

        That another path may be met here too is no offer of this one.
        """
        fewest = min(map(_fields, self.bound.values()))
        own = [method for method, each in self.bound.items() if _fields(each) == fewest]
        return sorted({*own, "OPTIONS"} | ({"HEAD"} if "GET" in own else set()))

    def names(self, bound: Bound) -> tuple[tuple[str, str, str], ...]:
        """Each of the operation's own path names, with where its value is.

        That is the field of Falcon's, or the segment itself where there is none.
        """
        return tuple(
            (own[1:-1], f"p{place}", segment)
            for place, (own, segment) in enumerate(
                zip(_segments(bound.declared.path), self.segments, strict=True)
            )
            if _is_field(own)
        )


class Router(CompiledRouter):
    """Falcon's, without its leniency for slashes.

    What stands in front of it and goes by the path, as the rate limits do, must not
    be passed by with another text for the same route.
    """

    def find(self, uri: str, req: falcon.Request | None = None) -> Any:  # noqa: ANN401  # as Falcon's
        """The route of the path; None where a segment is empty."""
        empty = "//" in uri or (uri != "/" and uri.endswith("/"))
        return None if empty else super().find(uri, req)


class QuickPaths:
    """The paths at which `GET` is declared to be quick."""

    def __init__(self, every: Iterable[Route]) -> None:
        read = [route for route in every if "GET" in route.bound]
        quick = [route for route in read if route.bound["GET"].declared.quick]
        # The more literal route wins where two are met.
        slow = [
            route
            for route in read
            if route not in quick
            and any(_covers(each.segments, route.segments) for each in quick)
        ]
        self._quick, self._slow = _pattern(quick), _pattern(slow)

    def has(self, path: str) -> bool:
        """Whether `GET` of this path takes a moment."""
        return bool(self._quick.fullmatch(path)) and not self._slow.fullmatch(path)


def routes(operations: Iterable[Bound]) -> list[Route]:
    """A route for every path, and for every point where paths meet."""
    every = list(operations)
    shapes = {_shape(_segments(each.declared.path)) for each in every}
    while True:
        meetings = {
            meeting
            for one, other in itertools.combinations(shapes, 2)
            if (meeting := _meeting(one, other)) is not None
        }
        if meetings <= shapes:
            break
        shapes |= meetings
    made = [Route(shape) for shape in sorted(shapes)]
    for route in made:
        for each in sorted(every, key=_fields):
            if _covers(_segments(each.declared.path), route.segments):
                route.bound.setdefault(each.declared.method, each)
    return made


def _pattern(every: Iterable[Route]) -> re.Pattern[str]:
    """What matches the paths of all these routes."""
    shapes = (
        "".join(
            "/[^/]+" if _is_field(each) else f"/{re.escape(each)}"
            for each in route.segments
        )
        for route in every
    )
    return re.compile("|".join(shapes) or r"(?!)")


def _segments(path: str) -> tuple[str, ...]:
    return tuple(path.removeprefix("/").split("/"))


def _is_field(segment: str) -> bool:
    return segment.startswith("{")


def _shape(segments: Sequence[str]) -> tuple[str, ...]:
    return tuple("{}" if _is_field(segment) else segment for segment in segments)


def _fields(bound: Bound) -> int:
    return sum(map(_is_field, _segments(bound.declared.path)))


def _meeting(one: Sequence[str], other: Sequence[str]) -> tuple[str, ...] | None:
    """The path that both match, or None."""
    if len(one) != len(other):
        return None
    met = [
        right if _is_field(left) else left
        for left, right in zip(one, other, strict=True)
        if left == right or _is_field(left) or _is_field(right)
    ]
    return tuple(met) if len(met) == len(one) else None


def _covers(general: Sequence[str], special: Sequence[str]) -> bool:
    return len(general) == len(special) and all(
        _is_field(wide) or wide == narrow
        for wide, narrow in zip(general, special, strict=True)
    )
