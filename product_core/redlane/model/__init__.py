"""Frozen values and protocols that every floor shares; no input or output."""
