"""The control API: server, client and what goes between them."""
