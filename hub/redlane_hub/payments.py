"""The payment provider: Stripe's checkout, and what its webhooks are signed with."""

__all__: list[str] = []
