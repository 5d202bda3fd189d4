"""A policy as the JSON object that a policy file would hold."""

from collections.abc import Mapping

from redlane.model.policy import Policy, Transform

__all__ = ["document_of"]


def document_of(policy: Policy) -> Mapping[str, object]:
    """What, parsed again, gives a policy that matches and decides as this one does.

    What only people read in a file (description, tags) is left out.
    """
    document = {
        "id": policy.id,
        "type": policy.type,
        "action": policy.action.value,
        "context": policy.context.value,
        "pattern": policy.pattern,
        "kill": policy.kill or None,
        "syscall": list(policy.syscalls) or None,
        "transform": policy.transform and _transform(policy.transform),
        "server": policy.server,
        "tool": policy.tool,
        "model": policy.model,
        "block_threshold": policy.block_threshold,
        "flag_threshold": policy.flag_threshold,
        "reason": policy.reason,
        "suggestion": policy.suggestion,
        **policy.options,
    }
    return {name: value for name, value in document.items() if value is not None}


def _transform(transform: Transform) -> Mapping[str, str]:
    fields = {
        "type": transform.type.value,
        "pattern": transform.pattern,
        "replacement": transform.replacement,
        "command": transform.command,
    }
    return {name: value for name, value in fields.items() if value}
