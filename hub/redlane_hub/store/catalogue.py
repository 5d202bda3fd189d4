"""Reading artifacts: whole ones by name and version, heads by id, download counts."""

import json
import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

from redlane_hub.model import ArtifactHead, ArtifactType, Visibility

__all__ = ["StoredArtifact", "download_counts", "find", "find_head", "set_yanked"]


class StoredArtifact(NamedTuple):
    """Everything that a fetch needs, as one row is read: a tuple is made in a moment.

    `tags`, `dependencies` and `content_schema` are JSON texts; `content` is None when
    its row is gone, `public_key` when the owner's key cannot be resolved; the flags are
    0 or 1.
    """

    number: int
    id: str
    name: str
    version: str
    description: str | None
    owner: str
    tags: str
    downloads: int
    visibility: str
    created_at: str
    content: bytes | None
    content_hash: str
    content_schema: str | None
    signature: bytes | None
    key_fingerprint: str | None
    public_key: bytes | None
    artifact_type: str
    yanked_reason: str | None
    dependencies: str
    owner_is_endorsed: int
    key_revoked: int
    yanked: int


# What the caller may not see is left before its content is read: it takes no longer
# than what does not exist.
_FIND = """
    SELECT
        artifacts.number, artifacts.id, name, version, description, email, tags,
        coalesce(count, 0), visibility, artifacts.created_at, content, content_hash,
        content_schema, signature, key_fingerprint, public_key, artifact_type,
        yanked_reason, dependencies, is_endorsed, revoked_at IS NOT NULL, yanked
    FROM artifacts
    JOIN accounts ON accounts.id = owner_id
    LEFT JOIN contents ON contents.number = artifacts.number
    LEFT JOIN downloads ON downloads.number = artifacts.number
    LEFT JOIN signing_keys ON fingerprint = key_fingerprint AND user_id = owner_id
    WHERE name = ? AND version = ? AND (visibility = 'public' OR owner_id = ?)
"""
_FIND_HEAD = """
    SELECT number, id, name, version, owner_id, visibility, artifact_type, yanked
    FROM artifacts WHERE id = ?
"""
_DOWNLOADS = """
    SELECT number, count FROM downloads
    WHERE number IN (SELECT value FROM json_each(?))
"""
_SET_YANKED = "UPDATE artifacts SET yanked = ?, yanked_reason = ? WHERE number = ?"


def find(
    connection: sqlite3.Connection, name: str, version: str, viewer_id: str | None
) -> StoredArtifact | None:
    """The artifact, if the viewer may see it."""
    row = connection.execute(_FIND, (name, version, viewer_id)).fetchone()
    return None if row is None else StoredArtifact._make(row)


def find_head(connection: sqlite3.Connection, artifact_id: str) -> ArtifactHead | None:
    """The head of any artifact, whoever may see it."""
    row = connection.execute(_FIND_HEAD, (artifact_id,)).fetchone()
    if row is None:
        return None
    number, made, name, version, owner_id, visibility, artifact_type, yanked = row
    return ArtifactHead(
        number,
        made,
        name,
        version,
        owner_id,
        Visibility(visibility),
        ArtifactType(artifact_type),
        bool(yanked),
    )


def download_counts(
    connection: sqlite3.Connection, numbers: Iterable[int]
) -> dict[int, int]:
    """The stored count of each of the artifacts."""
    rows = connection.execute(_DOWNLOADS, (json.dumps(list(numbers)),))
    return dict(rows.fetchall())


def set_yanked(
    connection: sqlite3.Connection, number: int, *, yanked: bool, reason: str | None
) -> None:
    """Mark an artifact; what is listed follows `listing`."""
    connection.execute(_SET_YANKED, (yanked, reason, number))
