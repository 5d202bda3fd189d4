"""All pages, put together."""

from urllib.parse import urlsplit

from redlane_hub.http.pages.artifacts import ArtifactPages
from redlane_hub.http.pages.assets import AssetPages, asset_names
from redlane_hub.http.pages.checkout import CheckoutPages
from redlane_hub.http.pages.rendering import Renderer
from redlane_hub.http.pages.reset import ResetPages
from redlane_hub.services.resets import Resets
from redlane_hub.services.viewing import Viewing

__all__ = ["pages"]


def pages(base_url: str, viewing: Viewing, resets: Resets) -> list[object]:
    """The resources of all pages; links start with the path of the base address."""
    renderer = Renderer(urlsplit(base_url).path.rstrip("/"), asset_names())
    return [
        ArtifactPages(renderer, viewing),
        ResetPages(renderer, resets),
        CheckoutPages(renderer),
        AssetPages(renderer),
    ]
