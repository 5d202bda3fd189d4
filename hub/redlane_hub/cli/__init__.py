"""The command `redlane-hub`: serving, and the operator's side."""
