"""Models from an endpoint that speaks as Hugging Face's hub does."""

import json
import os
import re
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from redlane_match_ml.arrival import Arrival, Digests
from redlane_match_ml.errors import SourceError
from redlane_match_ml.exported import (
    CONFIG,
    GRAPH,
    GRAPHS,
    TOKENIZER,
    Choices,
    describe,
)
from redlane_match_ml.fetching import read

__all__ = ["ENDPOINT", "PREFIX", "Repository", "bring", "parsed"]

PREFIX = "hf:"
ENDPOINT = "REDLANE_HF_ENDPOINT"
_PUBLIC = "https://huggingface.co"
_SOURCE = re.compile(
    r"hf:(?P<name>[\w.-]{1,96}/[\w.-]{1,96})(?:@(?P<revision>[\w.-]{1,128}))?"
)


@dataclass(frozen=True, slots=True)
class Repository:
    """Which repository, and which revision of it."""

    name: str
    revision: str

    @property
    def short(self) -> str:
        """A name for the model: without who made it."""
        return self.name.rpartition("/")[2].lower()


@dataclass(frozen=True, slots=True)
class _File:
    """A file of a repository."""

    name: str
    digests: Digests


def parsed(source: str) -> Repository:
    """The repository that a source names; raises SourceError."""
    found = _SOURCE.fullmatch(source)
    if found is None:
        form = "hf:ORG/REPO or hf:ORG/REPO@REVISION"
        raise SourceError(f"{source!r} must be {form}", is_refused=True)
    return Repository(found["name"], found["revision"] or "main")


def bring(repository: Repository, choices: Choices, arrival: Arrival) -> None:
    """Fetch a model, each file checked, and describe it there."""
    endpoint = os.environ.get(ENDPOINT) or _PUBLIC
    told = _told(endpoint, repository)
    revision = _text(told, "sha")
    files = {each.name: each for each in _files(told)}
    graph = next((each for each in GRAPHS if each in files), None)
    missing = [each for each in (TOKENIZER, CONFIG) if each not in files]
    if graph is None or missing:
        wanted = missing if graph else [" or ".join(GRAPHS), *missing]
        raise SourceError(
            f"{repository.name} has no {', no '.join(wanted)}: no export to ONNX?",
            is_refused=True,
        )
    for name, place in ((CONFIG, CONFIG), (TOKENIZER, TOKENIZER), (graph, GRAPH)):
        url = f"{endpoint}/{repository.name}/resolve/{quote(revision)}/{quote(name)}"
        arrival.fetch(url, place, files[name].digests)
    arrival.settle()
    licence = _licence(told)
    source = f"{endpoint}/{repository.name}"
    version = revision[:12]
    describe(
        arrival.staged,
        replace(choices, source=source, version=version, licence=licence),
    )


def _told(endpoint: str, repository: Repository) -> dict[str, Any]:
    revision = quote(repository.revision, safe="")
    url = f"{endpoint}/api/models/{repository.name}/revision/{revision}?blobs=true"
    try:
        told = json.loads(read(url))
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{url}: the answer is no JSON") from error
    if not isinstance(told, dict):
        raise SourceError(f"{url}: the answer is no object")
    return told


def _text(told: dict[str, Any], name: str) -> str:
    value = told.get(name)
    if not isinstance(value, str) or not re.fullmatch(r"[\w.-]{1,128}", value):
        raise SourceError(f"the answer about the repository has no {name!r}")
    return value


def _files(told: dict[str, Any]) -> list[_File]:
    listed = told.get("siblings")
    found = []
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, dict) and isinstance(each.get("rfilename"), str):
            large = each.get("lfs")
            sha256 = None
            if isinstance(large, dict):
                sha256 = large.get("sha256") or large.get("oid")
            git = None if isinstance(large, dict) else each.get("blobId")
            digests = Digests(sha256, git, each.get("size"))
            found.append(_File(each["rfilename"], digests))
    return found


def _licence(told: dict[str, Any]) -> str:
    card = told.get("cardData")
    licence = card.get("license") if isinstance(card, dict) else None
    return licence if isinstance(licence, str) and licence else "unknown"
