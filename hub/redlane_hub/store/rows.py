"""What rows must be like, where SQLite itself takes anything: for checking a backup."""

import sqlite3
from collections.abc import Iterator

__all__ = ["row_problems"]

_MOST_PROBLEMS = 20
"""So many problems of one kind are told."""

_MOMENT = "'[0-9][0-9][0-9][0-9]-[01][0-9]-[0-3][0-9]T??:??:??*Z'"
_LABEL = "CAST(name AS TEXT) || '@' || CAST(version AS TEXT)"

_WRONG = {
    "an address that is no text, or that nobody could log in with": """
        SELECT id FROM accounts
        WHERE typeof(email) <> 'text' OR email_folded IS NOT lower(email)
    """,
    "a password that is not kept as text": """
        SELECT id FROM accounts WHERE typeof(password_hash) <> 'text'
    """,
    "a time of registration that is none": """
        SELECT id FROM accounts WHERE created_at NOT GLOB MOMENT
    """,
    "a permission that is neither given nor not": """
        SELECT id FROM accounts
        WHERE is_approved NOT IN (0, 1) OR is_endorsed NOT IN (0, 1)
    """,
    "tags that are no list": """
        SELECT LABEL FROM artifacts
        WHERE NOT json_valid(tags) OR json_type(tags) <> 'array'
    """,
    "dependencies that are no list": """
        SELECT LABEL FROM artifacts
        WHERE NOT json_valid(dependencies) OR json_type(dependencies) <> 'array'
    """,
    "a name or a version that none may have": """
        SELECT LABEL FROM artifacts
        WHERE name GLOB '*[^-a-zA-Z0-9_.]*' OR version GLOB '*[^-a-zA-Z0-9_.+]*'
            OR name = '' OR version = ''
    """,
    "a visibility, a type or a state that there is not": """
        SELECT LABEL FROM artifacts
        WHERE visibility NOT IN ('public', 'private', 'draft')
            OR artifact_type NOT IN ('artifact', 'set') OR yanked NOT IN (0, 1)
    """,
    "a time of publication that is none": """
        SELECT LABEL FROM artifacts WHERE created_at NOT GLOB MOMENT
    """,
    "dependencies that are not those that are walked": """
        SELECT LABEL FROM artifacts
        WHERE json_valid(dependencies) AND json_array_length(dependencies) IS NOT (
            SELECT count(*) FROM dependencies AS walked
            JOIN json_each(artifacts.dependencies) AS listed
                ON listed.key = walked.position
            WHERE walked.number = artifacts.number
                AND listed.value ->> 'name' = walked.name
                AND listed.value ->> 'version' = walked.version
                AND listed.value ->> 'required' = walked.required
        )
    """,
    "tags that are not those that are searched": """
        SELECT LABEL FROM artifacts LEFT JOIN (
            SELECT number, count(*) AS searched FROM artifact_tags GROUP BY number
        ) USING (number)
        WHERE yanked = 0 AND json_valid(tags)
            AND json_array_length(tags) <> coalesce(searched, 0)
    """,
    "no counter of downloads": """
        SELECT LABEL FROM artifacts
        WHERE number NOT IN (SELECT number FROM downloads WHERE count >= 0)
    """,
    "a signature, and its key is not there": """
        SELECT LABEL FROM artifacts
        WHERE signature IS NOT NULL
            AND key_fingerprint IS NOT (
                SELECT fingerprint FROM signing_keys
                WHERE fingerprint = key_fingerprint
            )
    """,
    "a schema that is no JSON": """
        SELECT LABEL FROM artifacts JOIN contents USING (number)
        WHERE content_schema IS NOT NULL AND NOT json_valid(content_schema)
    """,
    "a level that there is not": """
        SELECT 'endorsement ' || id FROM endorsements
        WHERE level NOT IN ('verified', 'trusted_author', 'official')
    """,
}
"""What can be wrong, and the statement that finds the rows that have it."""


def row_problems(connection: sqlite3.Connection) -> Iterator[str]:
    """Rows that no hub writes, and that it could not serve."""
    for what, statement in _WRONG.items():
        spelled = statement.replace("LABEL", _LABEL).replace("MOMENT", _MOMENT)
        try:
            rows = connection.execute(spelled).fetchmany(_MOST_PROBLEMS)
        except sqlite3.OperationalError as error:
            # Bytes that are neither text nor JSON have no other way to tell.
            yield f"cannot be looked at for {what}: {error}"
            continue
        for row in rows:
            yield f"{row[0]}: has {what}"
