"""Serving: waitress, sockets, worker processes, logs and metrics."""
