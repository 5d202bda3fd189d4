"""The hub of Redlane: accounts, signing keys, artifacts, endorsements and billing."""

__version__ = "0.1.0"
