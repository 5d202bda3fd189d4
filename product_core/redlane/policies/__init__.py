"""From files on disk to an immutable rule set; every problem is collected."""
