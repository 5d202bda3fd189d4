"""The resources of the control API: read the request, make one call, render."""
