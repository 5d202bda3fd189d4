"""The Syscall context: a session's system calls, judged (policy format: Syscall)."""

__all__: list[str] = []
