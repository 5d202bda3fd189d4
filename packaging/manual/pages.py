"""The pages of one program: one for the program, one for each of its commands.

A page is made of sections, a section of lines of man(7); the sections stand in the
order that man-pages(7) asks for.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from manual.roff import bold, italic, literal, paragraphs, quoted, term

__all__ = ["Edition", "Page", "program_pages", "render", "see_also"]

Node = Mapping[str, Any]
"""A command as `describe` tells it."""


@dataclass(frozen=True, slots=True)
class Edition:
    """What stands at the head and foot of every page."""

    program: str
    version: str
    date: str


@dataclass(frozen=True, slots=True)
class Page:
    """A page and what it is called; `sections` are headings and their lines."""

    name: str
    section: int
    summary: str
    sections: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.name}.{self.section}"


def render(page: Page, edition: Edition) -> str:
    """The page's source; a section without lines is left out."""
    title = quoted(page.name.upper())
    source = quoted(f"{edition.program} {edition.version}")
    lines = [
        f'.TH {title} {page.section} {edition.date} {source} "Redlane"',
        ".SH NAME",
        rf"{literal(page.name)} \- {literal(page.summary)}",
    ]
    for heading, section in page.sections:
        if section:
            lines += [f".SH {quoted(heading)}", *section]
    return "\n".join(lines) + "\n"


def program_pages(node: Node, notes: Node) -> Iterator[Page]:
    """The page of a program, and its commands'; `notes` say what parsers cannot."""
    program = node["words"]
    names = {
        each["name"]: notes["page_names"].get(each["name"], f"{program}-{each['name']}")
        for each in node["commands"]
    }
    others = [f"{each}(1)" for each in names.values()]
    yield _page(program, node, notes, names, others)
    for each in node["commands"]:
        name = each["name"]
        yield _page(names[name], each, notes, {}, [f"{program}(1)"])


def _page(
    name: str, node: Node, notes: Node, names: Mapping[str, str], others: list[str]
) -> Page:
    """One page; `names` are the pages of its commands, when they have their own."""
    summary = node["summary"] or node["description"].partition(":")[0].strip()
    summary = f"{summary[:1].lower()}{summary[1:]}".rstrip(".")
    command = node["name"]
    examples, rest = _epilog(node["epilog"])
    listed = _list_commands(node, names) if names else _tell_commands(node)
    pages = [*others, *notes["see_also"]["pages"]]
    sections = {
        "SYNOPSIS": _synopses(node, nested=not names),
        "DESCRIPTION": [*paragraphs(node["description"]), *_more(rest)],
        "OPTIONS": _arguments(node),
        "COMMANDS": listed,
        "EXIT STATUS": _terms(_merged(notes, "exit_status", command)),
        "ENVIRONMENT": _terms(_merged(notes, "environment", command)),
        "FILES": _terms(_merged(notes, "files", command)),
        "EXAMPLES": [*paragraphs(examples), *_nested_examples(node, names)],
        "SEE ALSO": see_also(each for each in pages if each != f"{name}(1)"),
    }
    return Page(
        name, 1, summary, tuple((key, tuple(value)) for key, value in sections.items())
    )


def _merged(notes: Node, kind: str, command: str) -> dict[str, str]:
    """The rows for all commands and those of this one; numbers in their order."""
    rows = {**notes.get(kind, {}), **notes.get(f"command_{kind}", {}).get(command, {})}
    if kind != "exit_status":
        return rows
    last = rows.pop("*", None)
    ordered = dict(sorted(rows.items(), key=lambda row: int(row[0])))
    return {**ordered, "other": last} if last else ordered


def _terms(rows: Mapping[str, str]) -> Iterator[str]:
    for tag, text in rows.items():
        yield from term(bold(tag), text)


def _epilog(text: str) -> tuple[str, str]:
    """The examples of an epilog, and its other paragraphs without the exit codes."""
    examples, rest = [], []
    for block in re.split(r"\n\s*\n", text.strip()):
        heading, _, body = block.partition("\n")
        if heading == "examples:":
            examples.append(body)
        elif not block.startswith("exit codes:"):
            rest.append(block)
    return "\n\n".join(examples), "\n\n".join(filter(None, rest))


def _more(text: str) -> Iterator[str]:
    if text:
        yield ".PP"
        yield from paragraphs(text)


def _leaves(node: Node) -> Iterator[Node]:
    """The commands at the end of each way down from here."""
    for each in node["commands"]:
        yield from _leaves(each) if each["commands"] else (each,)


def _synopses(node: Node, *, nested: bool) -> Iterator[str]:
    if not node["commands"]:
        yield from _synopsis(node)
    elif nested:
        if any(not each["flags"] for each in node["arguments"]):
            yield from _synopsis(node)
        for each in _leaves(node):
            yield from _synopsis(each)
    else:
        yield from _synopsis(node)
        yield f".SY {quoted(node['words'])}"
        yield f"{italic('COMMAND')} [{italic('ARGUMENT')}.\\|.\\|.]"
        yield ".YS"


def _synopsis(node: Node) -> Iterator[str]:
    yield f".SY {quoted(node['words'])}"
    for each in node["arguments"]:
        if "--help" not in each["flags"]:
            yield _usage(each)
    yield ".YS"


def _usage(argument: Node) -> str:
    """One argument as a synopsis shows it: what may be left out stands in brackets."""
    value = _value(argument)
    if argument["flags"]:
        flag = bold(max(argument["flags"], key=len))
        value = f"{flag}\\ {value}" if value else flag
        return value if argument["required"] else f"[{value}]"
    optional = argument["count"] in {"?", "*"}
    return f"[{value}]" if optional else value


def _value(argument: Node) -> str:
    if argument["count"] == "0":
        return ""
    value = argument["value"]
    dashes, _, name = value.rpartition(" ")
    shown = f"{bold(dashes)}\\ {italic(name)}" if dashes == "--" else italic(value)
    many = argument["count"] in {"*", "+", "...", "A..."}
    return f"{shown}.\\|.\\|." if many else shown


def _arguments(node: Node, *, of_its_own: bool = False) -> Iterator[str]:
    """The arguments of a command; `of_its_own` leaves out what every command has."""
    for each in node["arguments"]:
        if of_its_own and "--help" in each["flags"]:
            continue
        value = _value(each)
        flags = ", ".join(map(bold, each["flags"]))
        tag = f"{flags} {value}".strip() if flags else value
        yield from term(tag, each["help"])


def _list_commands(node: Node, names: Mapping[str, str]) -> Iterator[str]:
    for each in node["commands"]:
        page = f"{bold(names[each['name']])}(1)"
        yield from term(page, each["summary"])


def _tell_commands(node: Node) -> Iterator[str]:
    for each in _leaves(node):
        yield f".SS {quoted(each['words'])}"
        yield from paragraphs(each["description"])
        yield from _arguments(each, of_its_own=True)


def _nested_examples(node: Node, names: Mapping[str, str]) -> Iterator[str]:
    """The examples of the commands that have no page, less those already shown."""
    shown = set(node["epilog"].splitlines())
    for each in () if names else _leaves(node):
        examples, _ = _epilog(each["epilog"])
        lines = [line for line in examples.splitlines() if line not in shown]
        shown.update(lines)
        if lines:
            yield ".PP"
            yield from paragraphs("\n".join(lines))


def see_also(pages: Iterable[str]) -> Iterator[str]:
    """References to pages, each like `redlane(1)`, in their order and once."""
    listed = list(dict.fromkeys(pages))
    for number, each in enumerate(listed, 1):
        name, _, section = each.partition("(")
        comma = "," if number < len(listed) else ""
        yield f".BR {literal(name)} ({section}{comma}"
