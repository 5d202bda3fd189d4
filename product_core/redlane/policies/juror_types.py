"""The types of jurors: what an entry of `review.jury` may say, by its `type`."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from types import MappingProxyType
from urllib.parse import SplitResult, urlsplit

from redlane.execution import command_problems
from redlane.model.field import Field, Kind
from redlane.model.problem import Problem, Severity
from redlane.model.reviewing import Reviewer
from redlane.policies.asking import juror_problems

__all__ = [
    "BUILT_IN",
    "COMMAND",
    "HTTP",
    "MODEL",
    "JurorType",
    "JurorTypes",
    "juror_types",
    "url_problems",
]

_WRITTEN = re.compile("[!-~]+")
COMMAND, HTTP, MODEL = "command", "http", "model"

Problems = Callable[[Mapping[str, object]], Iterable[Problem]]


@dataclass(frozen=True, slots=True)
class JurorType:
    """What entries of one type may say, and what is wrong with their values."""

    settings: tuple[Field, ...]
    problems: Problems = lambda _: ()


JurorTypes = Mapping[str, JurorType]


def juror_types(reviewers: Mapping[str, Reviewer]) -> JurorTypes:
    """Those that are built in, and those that plugins add."""
    added = {
        name: JurorType(tuple(each.settings), partial(juror_problems, each))
        for name, each in reviewers.items()
    }
    return {**added, **BUILT_IN}


def _command_problems(settings: Mapping[str, object]) -> Iterator[Problem]:
    return command_problems(
        str(settings["command"]), without="the juror votes to block"
    )


def url_problems(
    settings: Mapping[str, object], name: str = "url"
) -> Iterator[Problem]:
    """What is wrong with a table's address, and what others could read there."""
    url = str(settings[name])
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname)
        is_address = is_address and parts.port != 0 and bool(_WRITTEN.fullmatch(url))
    except ValueError:
        is_address = False
    if not is_address:
        wrong = (
            f"`{name}` must be an address that begins with http:// or https://, "
            "written in ASCII without spaces"
        )
        yield Problem(Severity.ERROR, wrong)
        return
    if "@" in parts.netloc:
        wrong = f"`{name}` must hold no login, which logs would show"
        yield Problem(Severity.ERROR, wrong)
    if parts.scheme == "http" and not _is_here(parts):
        seen = f"`{name}` has no https: others on the way can read what is held"
        yield Problem(Severity.WARNING, seen)


def _http_problems(settings: Mapping[str, object]) -> Iterator[Problem]:
    yield from url_problems(settings)
    key_file = settings.get("key_file")
    if key_file is not None and not Path(str(key_file)).is_file():
        missing = f"there is no key in {key_file}: the juror votes to block"
        yield Problem(Severity.WARNING, missing)


def _is_here(parts: SplitResult) -> bool:
    host = parts.hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


BUILT_IN: JurorTypes = MappingProxyType(
    {
        COMMAND: JurorType(
            (
                Field(
                    "command",
                    Kind.STRING,
                    "the program and its arguments, run without a shell",
                    required=True,
                ),
            ),
            _command_problems,
        ),
        HTTP: JurorType(
            (
                Field(
                    "url",
                    Kind.NAME,
                    "where chat completions in the OpenAI format are asked for",
                    required=True,
                ),
                Field("model", Kind.NAME, "the model that is asked", required=True),
                Field("key_file", Kind.FILE, "a file that holds the key"),
            ),
            _http_problems,
        ),
        MODEL: JurorType(
            (
                Field("model", Kind.NAME, "an installed classifier", required=True),
                Field(
                    "block_at",
                    Kind.NUMBER,
                    "the score from which on it votes to block",
                    required=True,
                    minimum=0,
                    maximum=1,
                ),
            )
        ),
    }
)
