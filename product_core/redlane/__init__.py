"""Redlane: the enforcement daemon around AI agents."""

__version__ = "0.1.0"
