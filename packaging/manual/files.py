"""The pages of the files: their fields are the tables that the loader obeys."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from manual.pages import Page, see_also
from manual.roff import bold, literal, paragraphs, prose, term

__all__ = ["file_pages"]

Row = Mapping[str, Any]

_MOST_CHOICES = 10
"""A longer list of allowed values is the schema's to print."""


def file_pages(tables: Mapping[str, list[Row]], notes: Row) -> Iterator[Page]:
    """A page for each kind of file that `notes` tell of."""
    for name, told in notes.get("file_pages", {}).items():
        sections = {
            "SYNOPSIS": _places(told["places"]),
            "DESCRIPTION": [*paragraphs(told["description"])],
            **{
                heading: [*paragraphs(each.get("text", "")), *_fields(tables, each)]
                for heading, each in told["sections"].items()
            },
            "EXAMPLES": [*paragraphs(told["example"])],
            "SEE ALSO": [*see_also(told["see_also"]), ".PP", prose(told["manual"])],
        }
        yield Page(
            name,
            5,
            told["summary"],
            tuple((key, tuple(value)) for key, value in sections.items()),
        )


def _places(places: Iterable[str]) -> Iterator[str]:
    for number, each in enumerate(places):
        if number:
            yield ".br"
        yield rf"\fI{literal(each)}\fR"


def _fields(tables: Mapping[str, list[Row]], section: Row) -> Iterator[str]:
    """The fields of a table, less those that another table tells of already."""
    shared = tables.get(section.get("shared_with", ""), [])
    for row in tables.get(section.get("table", ""), ()):
        if row in shared:
            continue
        yield from term(bold(row["name"]), _explained(row))


def _explained(row: Row) -> str:
    """What a field is for, what it may hold and what an absent one stands for."""
    limits = [f"one of {', '.join(row['choices'])}"] if _few(row["choices"]) else []
    limits = limits or [row["kind"]]
    limits += ["needed"] if row["required"] else []
    limits += [f"of {', '.join(row['types'])}"] if row["types"] else []
    limits += [f"default {row['default']}"] if row["default"] is not None else []
    return f"{row['help']} ({'; '.join(limits)})"


def _few(choices: list[str]) -> bool:
    return 0 < len(choices) <= _MOST_CHOICES
