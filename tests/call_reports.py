"""What a supervisor may report of a system call, and reports that it may not make."""

__all__ = ["EVENT", "WRONG"]

EVENT = {
    "call": {
        "syscall": "unlink",
        "paths": ["/etc/x", None],
        "args": [1, 2],
        "pid": 5,
        "ppid": 4,
        "command": "rm",
    },
    "verdict": "BLOCK",
    "policy": "no-unlink",
    "reason": "policy 'no-unlink' blocks this",
    "kill": True,
    "count": 3,
}


def with_call(**fields: object) -> dict[str, object]:
    return {"events": [{**EVENT, "call": {**EVENT["call"], **fields}}]}  # type: ignore[dict-item]  # it is one


def with_event(**fields: object) -> dict[str, object]:
    return {"events": [{**EVENT, **fields}]}


WRONG: dict[str, dict[str, object]] = {
    "too many events": {"events": [EVENT] * 201},
    "events that are none": {"events": [1]},
    "no call": {"events": [{"verdict": "BLOCK"}]},
    "no system call": with_call(syscall="frobnicate"),
    "a name that is no text": with_call(syscall=[]),
    "too many paths": with_call(paths=["/"] * 9),
    "a path that is no text": with_call(paths=[1]),
    "a path that is too long": with_call(paths=["x" * 8193]),
    "too many arguments": with_call(args=[1] * 7),
    "arguments that are no numbers": with_call(args=["1"]),
    "arguments that are booleans": with_call(args=[True]),
    "arguments that are too large": with_call(args=[1 << 65]),
    "a process that is no number": with_call(pid="1"),
    "a command that is too long": with_call(command="x" * 1001),
    "an Allow": with_event(verdict="ALLOW"),
    "no count": with_event(count=0),
    "a count that is no number": with_event(count=True),
    "a reason that is too long": with_event(reason="x" * 1001),
    "a policy that is no text": with_event(policy=1),
    "coverage that is none": {"coverage": [1]},
    "coverage of no system call": {
        "coverage": [{"syscall": "x", "enforcement": "exact"}]
    },
    "an unknown enforcement": {"coverage": [{"syscall": "open", "enforcement": "x"}]},
    "too much coverage": {
        "coverage": [{"syscall": "open", "enforcement": "exact"}] * 999
    },
    "a filter without names": {"filter": {}},
    "a filter of no system call": {"filter": {"syscalls": ["x"]}},
    "a filter that is a list": {"filter": ["open"]},
}
