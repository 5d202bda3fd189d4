"""The pages' style and icon, under names that change when they do.

So a browser may keep them for a year, and a new release is seen at once.
"""

import hashlib
from pathlib import Path

from redlane_hub.http.operations import Access, Call, Operation, Raw, operation
from redlane_hub.http.pages.rendering import Renderer

__all__ = ["AssetPages", "asset_names"]

_DIRECTORY = Path(__file__).parent / "static"
_TYPES = {".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
_FOR_A_YEAR = "public, max-age=31536000, immutable"
_HASH_LENGTH = 12


def asset_names() -> dict[str, str]:
    """The name that each file is served under, by its own name."""
    return {path.name: _served_name(path) for path in _files()}


class AssetPages:
    """`GET /static/{asset}`."""

    def __init__(self, renderer: Renderer) -> None:
        self._renderer = renderer
        self._served = {
            _served_name(path): Raw(
                path.read_bytes(),
                _TYPES[path.suffix],
                {"Cache-Control": _FOR_A_YEAR},
            )
            for path in _files()
        }

    @operation(
        Operation(
            "GET", "/static/{asset}", Access.ANYONE, "A style or an icon", tag="pages"
        )
    )
    def asset(self, call: Call[None, None]) -> Raw:
        """Answer a file that this release has."""
        return self._served.get(call.path["asset"]) or self._renderer.not_found()


def _files() -> list[Path]:
    return sorted(each for each in _DIRECTORY.iterdir() if each.suffix in _TYPES)


def _served_name(path: Path) -> str:
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:_HASH_LENGTH]
    return f"{path.stem}.{digest}{path.suffix}"
