"""The running service: sockets, requests, workers, signals, logs and metrics."""
