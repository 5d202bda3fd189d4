"""The payment provider, Stripe: its checkout, and the webhooks that it sends."""
