"""What goes over the daemon's sockets, and how one gets to them."""
