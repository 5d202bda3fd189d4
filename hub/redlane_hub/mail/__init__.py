"""Mail: what is sent, and how it leaves."""
