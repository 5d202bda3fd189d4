"""Precedence: from rules and content to a verdict."""
