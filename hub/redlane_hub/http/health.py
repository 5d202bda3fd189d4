"""Liveness, which never touches the database (hub API: Liveness)."""

from redlane_hub.http.operations import Access, Call, Operation, operation

__all__ = ["Health"]


class Health:
    """`GET /health`."""

    @operation(
        Operation("GET", "/health", Access.ANYONE, "Whether the hub serves", tag="hub")
    )
    def health(self, _call: Call[None, None]) -> None:
        """Answer an empty 200."""
