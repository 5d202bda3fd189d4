"""How the manual pages are made."""
