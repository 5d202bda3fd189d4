#!/usr/bin/env python3
"""Writes debian/copyright for a package with a private environment.

    copyright_file.py SITE_PACKAGES OUTFILE

Ours stands in `copyright.in`; each distribution in SITE_PACKAGES gets a paragraph with
its holders, and the text of its licence, told once however many have it. Nothing is
guessed: a distribution whose licence cannot be told fails the build in one line.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from installed import Installed, installed
from licences import (
    KNOWN,
    LicenceError,
    Part,
    compiled_in,
    identify,
    licence,
    licence_files,
)

__all__ = ["copyright_file", "holders", "main"]

TEXTS = Path(__file__).with_name("licence_texts")
HEAD = Path(__file__).with_name("copyright.in")

_OURS = re.compile(r"redlane(-|$)")
_SIGN = r"(?:copyright|\(c\)|©)"
_NOTICE = re.compile(
    rf"^[\s*#/-]*(?:portions\s+)?{_SIGN}[\s:]*"
    rf"(?:{_SIGN}\s*(?P<undated>[^\W\d].*)|(?:{_SIGN}\s*)?(?P<holder>\d{{4}}.*))$"
    r"|^\s*(?:[\w.-]+\s+)?(?P<years>\d{4}(?:-\d{4})?) \(c\) (?P<name>\S.*)$",
    re.IGNORECASE,
)
_ONLY_YEARS = re.compile(r"[\d\s,-]+$")

_COMMON = "\n\nOn Debian systems the full text is in /usr/share/common-licenses/{name}."
_ON_DEBIAN = {
    "Apache-2.0": "Apache-2.0",
    "LGPL-3.0-or-later": "LGPL-3",
    "MPL-2.0": "MPL-2.0",
}
"""Licences that Debian keeps: a copy of the full text is not wanted once more."""

_APACHE = """\
Licensed under the Apache License, Version 2.0 (the "License"); you may not use this
file except in compliance with the License. You may obtain a copy of the License at

    https://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software distributed under
the License is distributed on an "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY
KIND, either express or implied. See the License for the specific language governing
permissions and limitations under the License."""
_MOZILLA = """\
This Source Code Form is subject to the terms of the Mozilla Public License, v. 2.0.
If a copy of the MPL was not distributed with this file, You can obtain one at
https://mozilla.org/MPL/2.0/."""
_LESSER = """\
This program is free software: you can redistribute it and/or modify it under the terms
of the GNU Lesser General Public License as published by the Free Software Foundation,
either version 3 of the License, or (at your option) any later version.

This program is distributed in the hope that it will be useful, but WITHOUT ANY
WARRANTY; without even the implied warranty of MERCHANTABILITY or FITNESS FOR A
PARTICULAR PURPOSE. See the GNU Lesser General Public License for more details."""
_NOTICES = {
    "Apache-2.0": _APACHE,
    "LGPL-3.0-or-later": _LESSER,
    "MPL-2.0": _MOZILLA,
}


@dataclass(slots=True)
class Texts:
    """The licence texts so far: each under a short name that means it alone."""

    by_name: dict[str, str] = field(default_factory=dict)
    names: dict[tuple[str, str], str] = field(default_factory=dict)
    """By the licence and what is left of its text without layout and holders."""

    def name(self, wanted: str, text: str) -> str:
        """The short name of a text; one that differs from its namesakes has its own."""
        key = (wanted, _essence(text))
        if key not in self.names:
            variants = sum(known == wanted for known, _ in self.names)
            name = f"{wanted}-variant-{variants + 1}" if variants else wanted
            self.names[key] = name
            self.by_name[name] = text
        return self.names[key]


def copyright_file(site: Path) -> str:
    """The whole file, in the machine-readable format 1.0."""
    texts = Texts()
    paragraphs = [HEAD.read_text("utf-8").rstrip()]
    _common_name("Apache-2.0", texts)
    paragraphs += [
        _paragraph(distribution, texts)
        for distribution in installed(site)
        if not _OURS.match(distribution.name)
    ]
    paragraphs += [
        f"License: {name}\n{_indented(text)}"
        for name, text in sorted(texts.by_name.items())
    ]
    return "\n\n".join(paragraphs) + "\n"


def _paragraph(distribution: Installed, texts: Texts) -> str:
    """The Files paragraph of one distribution."""
    expression = licence(distribution)
    read = [
        (path.name, path.read_text("utf-8", errors="replace"))
        for path in licence_files(distribution)
    ]
    names = [
        *dict.fromkeys(
            _short_name(distribution, expression, text, texts)
            for name, text in read
            if _is_licence(name, text)
        )
    ]
    if not names:
        names = [_without_file(distribution, expression, texts)]
    parts = compiled_in(distribution)
    names = [*dict.fromkeys([*names, *(_part_name(each, texts) for each in parts)])]
    joint = " or " if " OR " in expression and " AND " not in expression else " and "
    told = [f"Compiled in: {each.name}, {each.identifier}" for each in parts]
    if (distribution.directory / "sboms").is_dir():
        told.append("Compiled in: see its own documents in sbom.cdx.json beside this")
    told += [text for name, text in read if not _is_licence(name, text)]
    comment = [f"{distribution.title} {distribution.version}: {expression}", *told]
    return "\n".join(
        [
            "Files:",
            *(f" */site-packages/{place}" for place in _patterns(distribution)),
            "Copyright:",
            *(f" {each}" for each in holders(distribution, [text for _, text in read])),
            f"License: {joint.join(names)}",
            "Comment:",
            _indented("\n\n".join(comment)),
        ]
    )


def _is_licence(name: str, text: str) -> bool:
    """Whether a file licenses: a NOTICE only says what has to be passed on."""
    if identify(text):
        return True
    return not re.match("notice|copyright|authors", name, re.IGNORECASE)


def _short_name(
    distribution: Installed, expression: str, text: str, texts: Texts
) -> str:
    """The name of a file's text: of one licence, or else of the distribution."""
    found = identify(text)
    if len(found) != 1:
        return texts.name(f"{_plain(expression)}-{distribution.name}", text)
    (identifier,) = found
    if identifier in _ON_DEBIAN:
        return _common_name(identifier, texts)
    return texts.name(identifier, _without_holders(text))


def _part_name(part: Part, texts: Texts) -> str:
    """The name of the licence of what is compiled in: its text is kept here."""
    if part.identifier in _ON_DEBIAN:
        return _common_name(part.identifier, texts)
    text = (TEXTS / f"{part.identifier}.txt").read_text("utf-8")
    return texts.name(part.identifier, text)


def _without_file(distribution: Installed, expression: str, texts: Texts) -> str:
    """The licence of a distribution without a file: its text must be known."""
    kept = TEXTS / f"{expression}.txt"
    if distribution.name in KNOWN and kept.is_file():
        return texts.name(expression, kept.read_text("utf-8"))
    if expression not in _ON_DEBIAN:
        raise LicenceError(
            f"{distribution.title} {distribution.version}: says {expression} and has "
            "no licence file, so there is no text to pass on"
        )
    return _common_name(expression, texts)


def _common_name(identifier: str, texts: Texts) -> str:
    text = _NOTICES[identifier] + _COMMON.format(name=_ON_DEBIAN[identifier])
    return texts.name(identifier, text)


def _plain(expression: str) -> str:
    """An expression as a short name, which has no white space."""
    return re.sub(r"[^\w.+-]+", "-", expression).strip("-")


def _patterns(distribution: Installed) -> list[str]:
    """Everything that it installed, relative to site-packages."""
    site = distribution.directory.parent
    places = [*distribution.places, distribution.directory.name]
    return [f"{each}/*" if (site / each).is_dir() else each for each in places]


def holders(distribution: Installed, texts: list[str]) -> list[str]:
    """Who holds the copyright: as the licence files say, else as the metadata does."""
    known = KNOWN.get(distribution.name)
    found = list(known.holders) if known else []
    found = found or [holder for text in texts for holder in _holders_in(text)]
    if not found:
        found = list(_authors(distribution))
    if not found:
        raise LicenceError(
            f"{distribution.title} {distribution.version}: neither its licence files "
            "nor its metadata name a copyright holder"
        )
    found += [f"{each.holder} ({each.name})" for each in compiled_in(distribution)]
    return list(dict.fromkeys(found))


def _holders_in(text: str) -> Iterator[str]:
    lines = text.splitlines()
    for number, line in enumerate(lines):
        match = _NOTICE.match(line)
        if match is None:
            continue
        named = match["holder"] or match["undated"]
        holder = named or f"{match['years']} {match['name']}"
        if _ONLY_YEARS.fullmatch(holder) and number + 1 < len(lines):
            holder += " " + lines[number + 1].strip(" *#/-")
        yield " ".join(holder.split()).rstrip("*/, ")


def _authors(distribution: Installed) -> Iterator[str]:
    """Who the metadata says wrote it, else who keeps it."""
    for name in ("Author", "Author-email", "Maintainer", "Maintainer-email"):
        value = distribution.metadata.get(name)
        if value:
            yield " ".join(str(value).split())
            return


def _without_holders(text: str) -> str:
    """The text without its notices: they stand in the paragraph of their files."""
    kept = [line for line in text.splitlines() if not _NOTICE.match(line)]
    return "\n".join(kept).strip("\n")


def _essence(text: str) -> str:
    """What makes a text the same licence: its words, without title and holders."""
    words = " ".join(re.findall(r"[\w']+", _without_holders(text).lower()))
    words = words.replace("all rights reserved", "")
    return re.sub(r"^\s*(the )?\w* ?licen[cs]e( \w+)?\s", "", words).strip()


def _indented(text: str) -> str:
    """As a value of several lines: an empty one is a point."""
    lines = [line.rstrip() for line in text.expandtabs(4).splitlines()]
    return "\n".join(f" {line}" if line else " ." for line in lines)


def main(arguments: list[str]) -> int:
    """Write the file, or say in one line which distribution is in the way."""
    if len(arguments) != 2:  # noqa: PLR2004  # the two of the usage
        sys.stderr.write("usage: copyright_file.py SITE_PACKAGES OUTFILE\n")
        return 2
    try:
        text = copyright_file(Path(arguments[0]))
    except (ValueError, OSError) as error:
        sys.stderr.write(f"copyright_file: {error}\n")
        return 1
    Path(arguments[1]).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
