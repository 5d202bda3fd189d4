"""The field `tests` of a policy, as cases.

`{"match": […], "not_match": […], "verdicts": […]}`: what the policy must match, what it
must not, and what a role must come to; or one list of all that. It never changes a
verdict.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from redlane.model.policy import Context
from redlane.model.problem import Finding, Severity
from redlane.model.verdict import Decision
from redlane.policies.nearness import short
from redlane.policies.sources import Entry

__all__ = ["Case", "cases_of"]

_MATCH, _NOT_MATCH, _VERDICTS = "match", "not_match", "verdicts"
_FIELDS = frozenset({"content", "context", "match", "role", "verdict"})
_OBJECTS = frozenset({Context.MCP, Context.SYSCALL})
"""The contexts whose content is a JSON object."""


@dataclass(frozen=True, slots=True)
class Case:
    """One content in one context: whether a policy matches it, or what a role does.

    `matches` is None where `role` and `verdict` are given.
    """

    policy: str
    file: str
    context: Context
    content: bytes
    matches: bool | None = None
    role: str | None = None
    verdict: Decision | None = None


class _WrongError(ValueError):
    """What is written there is no test; the message says why."""


def cases_of(entries: Sequence[Entry]) -> tuple[list[Case], list[Finding]]:
    """The tests of some policies, and what in these fields is none."""
    cases: list[Case] = []
    findings: list[Finding] = []
    for entry in entries:
        policy = entry.value if isinstance(entry.value, dict) else {}
        tests = policy.get("tests")
        if tests is None:
            continue
        name = policy.get("id")
        subject = name if isinstance(name, str) else entry.place
        try:
            cases += _cases(entry, subject, policy, tests)
        except _WrongError as error:
            where = f"`tests`: {error}"
            findings.append(Finding(Severity.WARNING, entry.file, subject, where))
    return cases, findings


def _cases(
    entry: Entry, name: str, policy: Mapping[str, Any], tests: object
) -> Iterator[Case]:
    usual = _usual_context(policy)
    for told in tests if isinstance(tests, list) else _listed(tests):
        fields = _object(told, _FIELDS)
        context, content = _content(fields, usual)
        matches, role = fields.get("match"), fields.get("role")
        if isinstance(matches, bool) and role is None:
            yield Case(name, entry.file, context, content, matches)
        elif matches is None and isinstance(role, str):
            verdict = _verdict(fields)
            yield Case(name, entry.file, context, content, None, role, verdict)
        else:
            raise _WrongError("each needs `match`, or `role` and `verdict`")


def _listed(tests: object) -> Iterator[object]:
    """The tests one by one, of an object that has them by what they are about."""
    fields = _object(tests, {_MATCH, _NOT_MATCH, _VERDICTS})
    for key, matches in ((_MATCH, True), (_NOT_MATCH, False)):
        for each in _list(key, fields.get(key)):
            one = {"content": each} if isinstance(each, str) else each
            yield {**_object(one, {"content", "context"}), "match": matches}
    for each in _list(_VERDICTS, fields.get(_VERDICTS)):
        told = _object(each, _FIELDS - {"match"})
        if not isinstance(told.get("role"), str):
            raise _WrongError("a verdict needs a `role`")
        yield told


def _usual_context(policy: Mapping[str, Any]) -> Context:
    """That of the policy; where it has all of them, it is Shell."""
    named = policy.get("context")
    known = {each.value: each for each in Context if each is not Context.ALL}
    return known.get(named, Context.SHELL) if isinstance(named, str) else Context.SHELL


def _content(told: Mapping[str, Any], usual: Context) -> tuple[Context, bytes]:
    named = told.get("context", usual.value)
    try:
        context = Context(named)
    except ValueError:
        raise _WrongError(f"{short(named)} is no context") from None
    content = told.get("content")
    if isinstance(content, dict) and context in _OBJECTS:
        content = json.dumps(content, ensure_ascii=False)
    if not isinstance(content, str):
        raise _WrongError(
            "a test needs a `content`: a text, or for Mcp and Syscall an object"
        )
    return context, content.encode(errors="surrogatepass")


def _verdict(told: Mapping[str, Any]) -> Decision:
    try:
        return Decision(str(told.get("verdict")))
    except ValueError:
        names = ", ".join(each.value for each in Decision)
        raise _WrongError(f"`verdict` must be one of {names}") from None


def _object(value: object, known: Collection[str]) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _WrongError(f"must be an object, not {short(value)}")
    for key in value:
        if key not in known:
            raise _WrongError(f"{short(key)} is none of {', '.join(sorted(known))}")
    return value


def _list(key: str, value: object) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise _WrongError(f"`{key}` must be a list, not {short(value)}")
    return value
