"""All that a plugin may import: the names here keep their meaning between versions.

`docs/plugin-api.md` says what may change, and when. A test compares all of it with
`tests/data/plugin-api.txt`.
"""

from redlane.execution import (
    Command,
    Ending,
    command_problems,
    run_all,
    seconds_left,
    split_command,
)
from redlane.hookspecs import API_VERSION, hookimpl
from redlane.messages import visible
from redlane.model.commands import CommandGroup
from redlane.model.content import (
    Content,
    Reader,
    ShellCommand,
    SystemCall,
    TextContent,
    ToolCall,
)
from redlane.model.field import Field, Kind
from redlane.model.matching import (
    Answer,
    Matcher,
    MatchType,
    Outcome,
    Preparation,
    PreparedMatchType,
)
from redlane.model.policy import Action, Context, Policy
from redlane.model.problem import Problem, Severity
from redlane.model.reviewing import Opinion, Reviewer, ReviewRequest, Vote
from redlane.model.scanning import ScanLimit, scan_limit
from redlane.model.serving import ContentJudge, ServedContext
from redlane.model.supervision import (
    ContextService,
    Coverage,
    Enforcement,
    Guard,
    GuardOptions,
    Judge,
    Ruling,
    Starts,
)
from redlane.model.unseen import first_unseen
from redlane.model.verdict import Decision, Verdict
from redlane.patterns import CompiledPattern, PatternError, compile_pattern
from redlane.plugin_models import packaged_models

__all__ = [
    "API_VERSION",
    "Action",
    "Answer",
    "Command",
    "CommandGroup",
    "CompiledPattern",
    "Content",
    "ContentJudge",
    "Context",
    "ContextService",
    "Coverage",
    "Decision",
    "Ending",
    "Enforcement",
    "Field",
    "Guard",
    "GuardOptions",
    "Judge",
    "Kind",
    "MatchType",
    "Matcher",
    "Opinion",
    "Outcome",
    "PatternError",
    "Policy",
    "Preparation",
    "PreparedMatchType",
    "Problem",
    "Reader",
    "ReviewRequest",
    "Reviewer",
    "Ruling",
    "ScanLimit",
    "ServedContext",
    "Severity",
    "ShellCommand",
    "Starts",
    "SystemCall",
    "TextContent",
    "ToolCall",
    "Verdict",
    "Vote",
    "command_problems",
    "compile_pattern",
    "first_unseen",
    "hookimpl",
    "packaged_models",
    "run_all",
    "scan_limit",
    "seconds_left",
    "split_command",
    "visible",
]
