"""The version of the plugin API, and the groups of entry points of plugins."""

__all__ = ["API_VERSION", "COMMANDS_GROUP", "ENTRY_POINT_GROUP", "MODELS_GROUP"]

API_VERSION = "1.0"
"""The version of `redlane.api`: `docs/plugin-api.md` says when which part changes."""

ENTRY_POINT_GROUP = "redlane"
COMMANDS_GROUP = "redlane.commands"

MODELS_GROUP = "redlane.models"
"""Classifier models that are packages: the name of one, and the package that it is."""
