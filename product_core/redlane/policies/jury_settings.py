"""`review.jury` in settings.json, and what must fit together with it."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from redlane.model.field import Field, Kind
from redlane.model.password import is_hashed
from redlane.model.problem import Finding, Problem, Severity
from redlane.model.settings import (
    JUROR_SECONDS,
    LONGEST_SECONDS,
    WEBHOOK_FORMATS,
    Juror,
    Order,
    Review,
    Webhook,
)
from redlane.policies.juror_types import JurorTypes, url_problems
from redlane.policies.nearness import expected
from redlane.policies.plugin_settings import placed, table_findings, table_values

__all__ = ["JUROR", "WEBHOOK", "check_review", "parse_jury", "parse_webhook"]

JUROR = (
    Field("name", Kind.NAME, "what votes are told by", required=True),
    Field("type", Kind.NAME, "command, http, model, or a plugin's", required=True),
    Field(
        "timeout_seconds",
        Kind.NUMBER,
        "how long it may take; what it says later counts for nothing",
        default=JUROR_SECONDS,
        positive=True,
        maximum=LONGEST_SECONDS,
    ),
    Field(
        "requests_per_hour",
        Kind.INTEGER,
        "how often it is asked within an hour; on what comes on top it votes to block",
        default=None,
        minimum=1,
    ),
)
"""What every entry says, whatever its type is."""

WEBHOOK = (
    Field("url", Kind.NAME, "what is told of reviews, by POST", required=True),
    Field("secret", Kind.NAME, "what signatures are made with", required=True),
    Field(
        "format",
        Kind.STRING,
        "who is to show the messages",
        default="json",
        choices=WEBHOOK_FORMATS,
    ),
    Field(
        "answer_listen",
        Kind.ADDRESS,
        "where pages to answer are served, on loopback; messages link to them",
        default=None,
    ),
    Field(
        "answer_url",
        Kind.NAME,
        "how people reach what answer_listen serves, as by a reverse proxy",
        default=None,
    ),
    Field(
        "answer_password",
        Kind.NAME,
        "what the password for answers is known by, as redlane review password prints",
        default=None,
    ),
)
"""What `review.webhook` says."""

_SUBJECT = "review.jury"
_MAKE_ONE = "redlane review password makes what stands there"
_NOT_OF_LINKS = re.compile(r'[?#<>\\^`{|}"]')


def parse_jury(
    entries: Sequence[Mapping[str, object]], types: JurorTypes, file: str
) -> tuple[tuple[Juror, ...], list[Finding]]:
    """The jurors, and all that is wrong with them; a wrong one is left out.

    A path that is not absolute lies beside `file`, which is settings.json.
    """
    findings: list[Finding] = []
    jury: list[Juror] = []
    for index, entry in enumerate(entries):
        found = list(_findings(f"{_SUBJECT}[{index}]", entry, types, file))
        findings += found
        if all(each.severity is not Severity.ERROR for each in found):
            jury.append(_juror(entry, types, Path(file).parent))
    names = (entry.get("name") for entry in entries)
    counts = Counter(each for each in names if isinstance(each, str))
    for name in (name for name, count in counts.items() if count > 1):
        twice = f"{name!r} is the name of {counts[name]} jurors: votes are told by it"
        findings.append(Finding(Severity.ERROR, file, _SUBJECT, twice))
    return tuple(jury), findings


def _findings(
    subject: str, entry: Mapping[str, object], types: JurorTypes, file: str
) -> Iterator[Finding]:
    home = Path(file).parent
    kind = entry.get("type")
    known = types.get(kind) if isinstance(kind, str) else None
    if known is None:
        shared = {each.name: entry.get(each.name) for each in JUROR}
        yield from table_findings(subject, JUROR, shared, file)
        if isinstance(kind, str) and kind:
            wrong = f"`type`: {expected(kind, tuple(types))}"
            yield Finding(Severity.ERROR, file, f"{subject}.type", wrong)
        return
    found = list(table_findings(subject, (*JUROR, *known.settings), entry, file))
    yield from found
    if all(each.severity is not Severity.ERROR for each in found):
        values = table_values(known.settings, entry)
        for problem in known.problems(placed(known.settings, values, home)):
            yield Finding(problem.severity, file, subject, problem.message)


def _juror(entry: Mapping[str, object], types: JurorTypes, home: Path) -> Juror:
    shared = table_values(JUROR, entry)
    table = types[str(entry["type"])].settings
    settings = placed(table, table_values(table, entry), home)
    per_hour = shared.get("requests_per_hour")
    return Juror(
        str(shared["name"]),
        str(shared["type"]),
        float(str(shared["timeout_seconds"])),
        settings,
        None if per_hour is None else int(str(per_hour)),
    )


def parse_webhook(
    entry: Mapping[str, object], file: str
) -> tuple[Webhook | None, list[Finding]]:
    """`review.webhook`, None where it is wrong, and all that is wrong with it."""
    subject = "review.webhook"
    # An empty object is one that lacks everything.
    lacking = {each.name: None for each in WEBHOOK if each.required}
    shared = lacking | dict(entry)
    findings = list(table_findings(subject, WEBHOOK, shared, file))
    if all(each.severity is not Severity.ERROR for each in findings):
        for problem in _webhook_problems(entry):
            finding = Finding(problem.severity, file, subject, problem.message)
            findings.append(finding)
    if any(each.severity is Severity.ERROR for each in findings):
        return None, findings
    values = table_values(WEBHOOK, entry).items()
    return Webhook(**{name: str(e) for name, e in values if e is not None}), findings


def _webhook_problems(entry: Mapping[str, object]) -> Iterator[Problem]:
    yield from url_problems(entry)
    link, password = entry.get("answer_url"), entry.get("answer_password")
    if (entry.get("answer_listen") is not None) != (password is not None):
        both = "`answer_listen` and `answer_password` go together"
        yield Problem(Severity.ERROR, f"{both}: {_MAKE_ONE}")
    elif password is not None and not is_hashed(str(password)):
        yield Problem(Severity.ERROR, f"`answer_password` is none: {_MAKE_ONE}")
    if link is None:
        return
    if password is None:
        lacking = "`answer_url` leads nowhere without `answer_listen`"
        yield Problem(Severity.ERROR, lacking)
    if _NOT_OF_LINKS.search(str(link)):
        wrong = '`answer_url` must be without a query, and without any of <>\\^`{|}"'
        yield Problem(Severity.ERROR, wrong)
    yield from url_problems(entry, "answer_url")


def check_review(review: Review, file: str) -> Iterator[Finding]:
    """What does not fit together: who decides, how many must agree, and when."""
    size = len(review.jury)
    if review.quorum is not None and review.quorum > size:
        wrong = f"{review.quorum} cannot agree: the jury has {size or 'nobody in it'}"
        yield Finding(Severity.ERROR, file, "review.quorum", wrong)
    if review.order not in (None, Order.PERSON) and not size:
        wrong = f"{review.order!r} asks a jury, and `review.jury` names nobody"
        yield Finding(Severity.ERROR, file, "review.order", wrong)
    late = [e.name for e in review.jury if e.timeout_seconds >= review.timeout_seconds]
    if late and review.decides is not Order.PERSON:
        told = (
            f"{', '.join(late)} may take as long as `review.timeout_seconds`, after "
            "which nobody is waited for"
        )
        yield Finding(Severity.WARNING, file, _SUBJECT, told)
