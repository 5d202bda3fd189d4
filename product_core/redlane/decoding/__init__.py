"""Bytes as they travel to the text that they are read as: pure functions."""
