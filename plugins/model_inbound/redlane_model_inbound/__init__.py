"""A classifier model, as the folder that `redlane models` would install it in."""
