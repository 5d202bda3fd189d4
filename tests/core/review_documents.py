"""Reviews as the control API has them."""

from typing import Any

__all__ = ["review"]


def review(name: str, content: str = "push", **more: Any) -> dict[str, Any]:
    """A review as the control API has it."""
    nothing = ("role", "policy", "pid", "by", "note", "matched", "modified")
    return {
        **dict.fromkeys((*nothing, "subject")),
        "id": name,
        "state": "waiting",
        "session": "s",
        "context": "Shell",
        "reason": "flagged",
        "created": "now",
        "deadline": "then",
        "content": content,
        "details": [],
        "inside": [],
        "votes": [],
        "processes": [],
        "waits_for": "a person",
        "seconds_left": 30.0,
        "timeout_action": "block",
        **more,
    }
