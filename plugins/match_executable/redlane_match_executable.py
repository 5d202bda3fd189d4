"""The match type; see the plugin page of the manual."""
