"""Models that people share on a hub: a manifest, and where each of its files is.

`redlane hub fetch` asks the hub and decides whom to trust: nothing of that is decided
here. What the artifact holds is `model.json`, and in `sources` the bytes of each file
in base64, or the address of it; the digests are those of the manifest.
"""

import json
import re
import subprocess
import sys
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from redlane_match_ml.arrival import Arrival, Digests
from redlane_match_ml.errors import ModelError, SourceError
from redlane_match_ml.manifest import MANIFEST, check_name, read_files, read_manifest

__all__ = ["Asking", "as_artifact", "bring", "is_reference"]

_REFERENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}(@[A-Za-z0-9][\w.+-]{0,63})?")
_SOURCE = re.compile(
    r"https?://\S+/artifacts/[^/#]+/(?P<version>[^/#]+)(?:#(?P<key>[0-9a-f]{64}))?"
)
_NUMBERED = re.compile("v?[0-9]")
_TAG, _SOURCES = "model", "sources"
_NOT_REACHED = 4


@dataclass(frozen=True, slots=True)
class Asking:
    """How a hub is asked: which one, and whether keys that are new are trusted."""

    hub: str | None = None
    trust_new: bool = False


def is_reference(source: str) -> bool:
    """Whether a source may be NAME or NAME@VERSION of a hub."""
    return bool(_REFERENCE.fullmatch(source))


def bring(
    source: str, name: str | None, models: Path, arrival: Arrival, asking: Asking
) -> None:
    """Have what is on a hub, each file as the manifest has its digest.

    It may not be older than the one of its name that came from a hub before, unless
    just that is asked for, nor be signed by somebody else. Raises ModelError.
    """
    name = name or source.partition("@")[0]
    check_name(name)
    told = _told(source, asking, _former(models / name, is_exact="@" in source))
    document = told["content"]
    sources = document.pop(_SOURCES, None) if isinstance(document, dict) else None
    if not isinstance(sources, dict):
        raise ModelError(f"{source} holds no model: there are no `{_SOURCES}` in it")
    page = f"{told['hub']}/artifacts/{quote(told['name'])}/{quote(told['version'])}"
    mark = f"#{told['key_fingerprint']}" if told["checked"] else ""
    document |= {"name": name, "version": told["version"], "source": page + mark}
    text = json.dumps(document, indent=2) + "\n"
    (arrival.staged / MANIFEST).write_text(text)
    for file, digest in read_manifest(arrival.staged).files.items():
        _take(sources.get(file), file, digest, told["hub"], arrival)
    arrival.settle()


def as_artifact(folder: Path, address: str | None) -> dict[str, object]:
    """What is to be published of a model; its files are below `address`, or in it."""
    if address and not address.startswith(("https://", "http://")):
        raise ModelError(f"{address!r} is no address with https")
    manifest = read_manifest(folder)
    sources = {
        name: {"url": f"{address.rstrip('/')}/{quote(name)}"}
        if address
        else {"base64": b64encode(data).decode()}
        for name, data in read_files(folder, manifest).items()
    }
    document = manifest.document()
    del document["source"]  # it says where it came from here, and says there: the hub
    return {**document, _SOURCES: sources}


def _former(folder: Path, *, is_exact: bool) -> list[str]:
    """What a model that came from a hub before asks of the next one."""
    try:
        found = _SOURCE.fullmatch(read_manifest(folder).source)
    except ModelError:
        found = None
    if found is None:
        return []
    version, key = unquote(found["version"]), found["key"]
    is_floor = not is_exact and _NUMBERED.match(version)
    return [
        *(["--at-least", version] if is_floor else []),
        *(["--signed-by", key] if key else []),
    ]


def _told(source: str, asking: Asking, options: Sequence[str]) -> dict[str, Any]:
    """What the hub has, once it was checked; people are asked by that command."""
    command = [sys.executable, "-P", "-m", "redlane", "hub", "fetch", "--json"]
    command += ["--tag", _TAG, *options]
    command += ["--hub", asking.hub] if asking.hub else []
    command += ["--trust-new"] if asking.trust_new else []
    command.append(source)
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)  # ours
    if done.returncode:
        raise SourceError(
            f"{source} did not come from the hub",
            is_refused=done.returncode != _NOT_REACHED,
            is_told=done.returncode > 0,  # else it was killed
        )
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def _take(source: object, name: str, digest: str, hub: str, arrival: Arrival) -> None:
    """Have one file."""
    match source:
        case {"base64": str(text)}:
            arrival.write(name, _decoded(text, name), digest)
        case {"url": str(url)}:
            _require_safe(url, hub)
            arrival.fetch(url, name, Digests(digest))
        case _:
            raise ModelError(f"`{_SOURCES}` must have `base64` or `url` for {name!r}")


def _decoded(text: str, name: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError as error:
        raise ModelError(f"`{_SOURCES}`: {name!r} is no base64") from error


def _require_safe(url: str, hub: str) -> None:
    """Somebody on the way must not see what is fetched, unless the hub is asked so."""
    scheme, colon, _ = url.partition("://")
    if not colon or scheme not in ("https", urlsplit(hub).scheme):
        raise SourceError(f"{url} is no address with https", is_refused=True)
