"""The proxy: a process of its own, in which a session's traffic is judged."""
