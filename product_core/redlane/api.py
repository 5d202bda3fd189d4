"""All that a plugin may import: the names here keep their meaning between versions."""

from redlane.execution import (
    Command,
    Ending,
    command_problems,
    run_all,
    split_command,
)
from redlane.hookspecs import hookimpl
from redlane.model.content import Content, Reader, SystemCall, ToolCall
from redlane.model.matching import Answer, Matcher, MatchType, Outcome
from redlane.model.policy import Action, Context, Policy
from redlane.model.problem import Problem, Severity
from redlane.model.supervision import (
    ContextService,
    Coverage,
    Enforcement,
    Guard,
    GuardOptions,
    Judge,
    Ruling,
)
from redlane.model.unseen import first_unseen
from redlane.patterns import CompiledPattern, PatternError, compile_pattern

__all__ = [
    "Action",
    "Answer",
    "Command",
    "CompiledPattern",
    "Content",
    "Context",
    "ContextService",
    "Coverage",
    "Ending",
    "Enforcement",
    "Guard",
    "GuardOptions",
    "Judge",
    "MatchType",
    "Matcher",
    "Outcome",
    "PatternError",
    "Policy",
    "Problem",
    "Reader",
    "Ruling",
    "Severity",
    "SystemCall",
    "ToolCall",
    "command_problems",
    "compile_pattern",
    "first_unseen",
    "hookimpl",
    "run_all",
    "split_command",
]
