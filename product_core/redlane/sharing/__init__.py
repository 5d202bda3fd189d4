"""What others have published, here: fetched, checked, installed, and kept track of."""
