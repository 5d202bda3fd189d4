"""All that a plugin may import: the names here keep their meaning between versions."""

from redlane.hookspecs import hookimpl
from redlane.model.content import Content, Reader, SystemCall, ToolCall
from redlane.model.matching import Answer, Matcher, MatchType, Outcome
from redlane.model.policy import Action, Context, Policy
from redlane.model.problem import Problem, Severity

__all__ = [
    "Action",
    "Answer",
    "Content",
    "Context",
    "MatchType",
    "Matcher",
    "Outcome",
    "Policy",
    "Problem",
    "Reader",
    "Severity",
    "SystemCall",
    "ToolCall",
    "hookimpl",
]
