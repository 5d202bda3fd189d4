"""Exact attachments in the kernel, for supervisors that are privileged (root)."""

__all__: list[str] = []
