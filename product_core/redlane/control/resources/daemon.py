"""`/api/policies/reload`, `/api/status`, `/health` and `/metrics`."""

from collections.abc import Callable

import falcon

from redlane.control.access import caller_of
from redlane.control.bodies import read_object
from redlane.control.documents import finding_document
from redlane.control.rendering import Rendering
from redlane.judging.metrics import MEDIA_TYPE, Metrics, gauge
from redlane.policies.loaded import Loaded

__all__ = ["Health", "MetricsPage", "Reload", "Status"]


class Reload:
    """`POST` `{}`: run the original load again, its restriction to roles included."""

    def __init__(self, reload: Callable[[], Loaded], rendering: Rendering) -> None:
        """`reload` returns what was loaded; with any error nothing has changed."""
        self._reload = reload
        self._rendering = rendering

    def on_post(self, request: falcon.Request, response: falcon.Response) -> None:
        """Answer what is in force now, or 422 and every error."""
        read_object(request)
        loaded = self._reload()
        if loaded.errors:
            response.status = falcon.HTTP_422
            count = len(loaded.errors)
            response.media = {
                "error": f"{count} load error{'s' * (count > 1)}: nothing was changed",
                "errors": [finding_document(each) for each in loaded.errors],
            }
            return
        response.media = self._rendering.reload(loaded)


class Status:
    """`GET`: the daemon as it is now, as far as it concerns the caller."""

    def __init__(self, rendering: Rendering) -> None:
        """Show what `rendering` knows."""
        self._rendering = rendering

    def on_get(self, request: falcon.Request, response: falcon.Response) -> None:
        """Answer what the caller may know."""
        response.media = self._rendering.status(caller_of(request))


class Health:
    """`GET`: the daemon answers; open to everybody whom it serves at all."""

    def on_get(self, _: falcon.Request, response: falcon.Response) -> None:
        """Say so."""
        response.media = {"status": "ok"}


class MetricsPage:
    """`GET`: counters and measures for Prometheus."""

    def __init__(self, metrics: Metrics, rendering: Rendering) -> None:
        """Show `metrics`, and how many of each there are now."""
        self._metrics = metrics
        self._rendering = rendering

    def on_get(self, _: falcon.Request, response: falcon.Response) -> None:
        """Answer in the text format."""
        status = self._rendering
        ruleset = status.loaded().ruleset
        measures = {
            "redlane_held_reviews": ("Held reviews.", len(status.reviews.list())),
            "redlane_sessions": ("Running sessions.", status.running_sessions()),
            "redlane_policies": ("Loaded policies.", len(ruleset.policies)),
            "redlane_roles": ("Loaded roles.", len(ruleset.roles)),
        }
        lines = [*self._metrics.lines()]
        for name, (text, value) in measures.items():
            lines += gauge(name, text, {"": value})
        response.content_type = MEDIA_TYPE
        response.text = "\n".join(lines) + "\n"
