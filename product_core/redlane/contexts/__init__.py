"""Outside traffic turned into content, and verdicts obeyed."""
