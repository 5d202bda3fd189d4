"""Homes into which models are pulled from a hub, and models that somebody publishes."""

import hashlib
import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hostile_hub import Answer, RoutedHub, plain_answer
from hub_people import fingerprint_of
from hub_statements import stated_article
from lying_hub import article, holding, routes
from nacl.signing import SigningKey

from redlane.cli.main import main

__all__ = [
    "FILES",
    "HERS",
    "KEY",
    "OTHER",
    "Home",
    "Made",
    "cut",
    "cut_piece",
    "of_one_file",
    "published",
    "raw",
    "rest",
]

KEY, OTHER = SigningKey(bytes(32)), SigningKey(bytes(range(32)))
HERS = fingerprint_of(KEY)
"""The key that a home trusts."""
FILES = "/files/"
"""Where a hub of tests serves the files of models, too."""
_CHUNKED = "200 OK\r\nTransfer-Encoding: chunked"
_CUT = 40


@dataclass(frozen=True)
class Made:
    """A model that somebody publishes: what its model.json says, and its files."""

    document: Mapping[str, Any]
    files: Mapping[str, bytes]

    @classmethod
    def of(cls, folder: Path) -> "Made":
        document = json.loads((folder / "model.json").read_bytes())
        del document["source"]  # where it came from: whoever pulls has another one
        return cls(document, {e: (folder / e).read_bytes() for e in document["files"]})

    @property
    def size(self) -> int:
        return sum(map(len, self.files.values()))

    @property
    def whole(self) -> dict[str, Any]:
        """The artifact with the files in it."""
        sources = {name: _base64(data) for name, data in self.files.items()}
        return {**self.document, "sources": sources}

    def at(self, address: str) -> dict[str, Any]:
        """The artifact with the files on a server."""
        sources = {name: {"url": f"{address}{FILES}{name}"} for name in self.files}
        return {**self.document, "sources": sources}


@dataclass(frozen=True)
class Home:
    """Where models are installed, the hub that is asked, and what people are told."""

    hub: RoutedHub
    models: Path
    output: pytest.CaptureFixture[str]

    @classmethod
    def made(
        cls,
        place: Path,
        hub: RoutedHub,
        monkeypatch: pytest.MonkeyPatch,
        output: pytest.CaptureFixture[str],
    ) -> "Home":
        """One without models, for the commands of this process and those they start."""
        place.mkdir()
        monkeypatch.chdir(place)
        monkeypatch.delenv("REDLANE_HUB_TOKEN", raising=False)
        monkeypatch.setenv("HOME", str(place))
        monkeypatch.setenv("REDLANE_HOME", str(place / ".redlane"))
        monkeypatch.setenv("REDLANE_HUB_URL", hub.address)
        assert main(["hub", "trust", HERS]) == 0
        return cls(hub, place / ".redlane" / "models", output)

    def telling(
        self,
        content: Any,
        named: str = "tiny@1",
        key: SigningKey | None = KEY,
        **fields: Any,
    ) -> None:
        """Have the hub tell of that artifact alone."""
        told = {**published(content, named, key), **fields}
        self.hub.routes = routes({named: told})

    def serving(self, made: Made, **answers: Answer) -> None:
        """The same, with files on a server, of which some are answered otherwise."""
        self.telling(made.at(self.hub.address))
        for name, data in made.files.items():
            answer = answers.get(name.partition(".")[0], plain_answer(data))
            self.hub.routes[FILES + name] = answer

    def sharing(self, made: Made, where: str) -> None:
        """The same, with files `in it` or `on a server`."""
        self.serving(made)
        if where == "in it":
            self.telling(made.whole)

    def asked(self, name: str) -> list[str]:
        """The requests for a file."""
        return [e.head for e in self.hub.sent if e.target == FILES + name]

    def run(self, *words: object) -> str:
        """What a command of models prints."""
        self.output.readouterr()
        code = main(["models", *map(str, words)])
        out, error = self.output.readouterr()
        assert code == 0, error
        return out

    def shown(self, name: str = "tiny") -> dict[str, Any]:
        return dict(json.loads(self.run("show", name, "--json")))

    def refused(self, codes: tuple[int, ...], says: str, *words: object) -> None:
        """One of these statuses, and one line; every file is what it was."""
        before = self._files()
        self.output.readouterr()
        code = main(["models", *map(str, words)])
        out, error = self.output.readouterr()
        assert (out, error.count("\n")) == ("", 1), error
        assert code in codes, error
        assert error.startswith("redlane: ")
        assert says in error
        assert self._files() == before

    def _files(self) -> dict[Path, bytes]:
        return {
            each: b"" if each.is_dir() else each.read_bytes()
            for each in self.models.rglob("*")
            if ".partial" not in each.parts
        }


def published(content: Any, named: str, key: SigningKey | None) -> dict[str, Any]:
    """What a hub tells of an artifact with the tag of models, signed by a key."""
    unsigned = {"signed": False, "key_fingerprint": None, "signature_valid": None}
    told = article(named, tags=["model"], **holding(content))
    return {**told, **unsigned} if key is None else stated_article(told, key)


def of_one_file(name: str, data: bytes) -> dict[str, Any]:
    """The fields of an artifact that are about files."""
    digest = hashlib.sha256(data).hexdigest()
    return {"files": {name: digest}, "sources": {name: _base64(data)}}


def raw(head: str, body: bytes = b"") -> Answer:
    """An answer, after which the connection ends."""
    return Answer(f"HTTP/1.1 {head}\r\n\r\n".encode("latin-1") + body, stays=False)


def cut(data: bytes) -> Answer:
    """The beginning of a file, of which all was announced."""
    return raw(f"200 OK\r\nContent-Length: {len(data)}", data[:_CUT])


def cut_piece(data: bytes) -> Answer:
    """The beginning of the one piece in which a file of no announced length comes."""
    return raw(_CHUNKED, b"%x\r\n%b" % (len(data), data[:_CUT]))


def rest(data: bytes) -> Answer:
    """What follows that beginning."""
    last = len(data) - 1
    place = f"Content-Range: bytes {_CUT}-{last}/{last + 1}"
    return plain_answer(data[_CUT:], "206 Partial Content", place)


def _base64(data: bytes) -> dict[str, str]:
    return {"base64": b64encode(data).decode()}
