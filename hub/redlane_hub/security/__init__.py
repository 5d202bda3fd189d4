"""Passwords, tokens, signatures and rate limits."""
