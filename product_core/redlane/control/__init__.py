"""The control API: HTTP for people and tools, over a Unix socket."""
