"""The tests that policies carry: read, run, and tried for what they would notice."""
