"""Makes room for a new connection by closing the one that was idle longest."""

from typing import Any

__all__ = ["MakesRoom"]

_MOST_ACCEPTED = 32


class MakesRoom:
    """What a server of waitress accepts by; its own limit is to be higher."""

    most_connections = 2048
    active_channels: dict[int, Any]

    def handle_accept(self) -> None:
        """Accept what waits; the longest idle ones go when there are too many."""
        for _ in range(_MOST_ACCEPTED):
            self._make_room()
            before = len(self.active_channels)
            super().handle_accept()  # type: ignore[misc]  # waitress has it
            if len(self.active_channels) == before:
                return

    def _make_room(self) -> None:
        if len(self.active_channels) < self.most_connections:
            return
        idle = [each for each in self.active_channels.values() if not each.requests]
        if idle:
            min(idle, key=_last_activity).handle_close()


def _last_activity(channel: Any) -> float:  # noqa: ANN401  # waitress has no types
    seconds: float = channel.last_activity
    return seconds
