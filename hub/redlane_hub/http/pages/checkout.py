"""Where the payment provider sends a browser after a checkout."""

from redlane_hub.http.operations import Access, Call, Operation, Raw, operation
from redlane_hub.http.pages.rendering import Renderer

__all__ = ["CheckoutPages"]


class CheckoutPages:
    """`/checkout/success` and `/checkout/cancel`; neither changes anything."""

    def __init__(self, renderer: Renderer) -> None:
        self._renderer = renderer

    @operation(
        Operation(
            "GET",
            "/checkout/success",
            Access.ANYONE,
            "After a checkout that was completed",
            tag="pages",
        )
    )
    def success(self, _call: Call[None, None]) -> Raw:
        """Say thanks; the provider's event is what counts."""
        return self._renderer.message(
            "Thank you",
            "Your checkout is complete.",
            "Your subscription is active as soon as the payment provider has confirmed "
            "it, usually within a minute. You can close this page.",
        )

    @operation(
        Operation(
            "GET",
            "/checkout/cancel",
            Access.ANYONE,
            "After a checkout that was left",
            tag="pages",
        )
    )
    def cancel(self, _call: Call[None, None]) -> Raw:
        """Say that nothing happened."""
        return self._renderer.message(
            "Checkout canceled",
            "Nothing was charged, and your account is as it was.",
            "You can start again whenever you like.",
        )
