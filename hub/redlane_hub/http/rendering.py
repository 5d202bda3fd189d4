"""Artifacts as JSON: what is stored as JSON goes into the answer as it is.

Content, tags, dependencies and schema are never parsed to be read; so a fetch costs
little more than its bytes, and content is served as it was pushed.
"""

import json
from collections.abc import Sequence
from json.encoder import encode_basestring

from redlane_hub.services.catalogue import Fetched, Found, Listed
from redlane_hub.services.dependencies import Reached

__all__ = ["artifact_json", "members_json", "search_json", "walk_json"]

_FLAG: dict[int | None, str] = {0: "false", 1: "true", None: "null"}


def artifact_json(fetched: Fetched) -> bytes:
    """A full artifact (hub API: Artifact)."""
    stored = fetched.stored
    head = (
        f'{{"id": {_text(stored.id)}, "name": {_text(stored.name)}, '
        f'"version": {_text(stored.version)}, '
        f'"description": {_text(stored.description)}, "owner": {_text(stored.owner)}, '
        f'"owner_is_endorsed": {_FLAG[stored.owner_is_endorsed]}, '
        f'"tags": {stored.tags}, "downloads": {fetched.downloads}, '
        f'"visibility": {_text(stored.visibility)}, '
        f'"created_at": {_text(stored.created_at)}, "content": '
    )
    tail = (
        f', "content_hash": {_text(stored.content_hash)}, '
        f'"content_schema": {stored.content_schema or "null"}, '
        f'"signed": {_FLAG[stored.signature is not None]}, '
        f'"key_fingerprint": {_text(stored.key_fingerprint)}, '
        f'"signature_valid": {_FLAG[fetched.signature_valid]}, '
        f'"artifact_type": {_text(stored.artifact_type)}, '
        f'"yanked": {_FLAG[stored.yanked]}, '
        f'"yanked_reason": {_text(stored.yanked_reason)}, '
        f'"dependencies": {stored.dependencies}}}'
    )
    return b"".join((head.encode(), fetched.content, tail.encode()))


def search_json(found: Found) -> bytes:
    """One page of a search (hub API: Artifacts, search)."""
    results = ", ".join(map(_summary, found.results))
    return f'{{"results": [{results}], "total": {found.total}}}'.encode()


def members_json(name: str, version: str, members: str) -> bytes:
    """A set's members, which are a JSON text."""
    return (
        f'{{"set_name": {_text(name)}, "set_version": {_text(version)}, '
        f'"members": {members}}}'
    ).encode()


def walk_json(name: str, version: str, reached: Sequence[Reached]) -> bytes:
    """A resolved dependency walk."""
    found = [
        {
            "name": each.needed.name,
            "version": each.needed.version,
            "required": each.needed.required,
            "depth": each.depth,
            "found": each.found,
        }
        for each in reached
    ]
    walk = {"root": f"{name}@{version}", "dependencies": found}
    return json.dumps(walk, ensure_ascii=False).encode()


def _summary(listed: Listed) -> str:
    summary = listed.summary
    return (
        f'{{"id": {_text(summary.id)}, "name": {_text(summary.name)}, '
        f'"version": {_text(summary.version)}, '
        f'"description": {_text(summary.description)}, '
        f'"owner": {_text(summary.owner)}, '
        f'"owner_is_endorsed": {_FLAG[summary.owner_is_endorsed]}, '
        f'"tags": {summary.tags}, "downloads": {listed.downloads}, '
        f'"visibility": {_text(summary.visibility)}, '
        f'"created_at": {_text(summary.created_at)}, '
        f'"yanked": {_FLAG[summary.yanked]}, '
        f'"artifact_type": {_text(summary.artifact_type)}}}'
    )


def _text(value: str | None) -> str:
    return "null" if value is None else encode_basestring(value)
