"""The statements that make the tables, for the migrations.

Content stands apart from the listing, so that a search never reads it. `number` is the
order of publication: it grows with `created_at`, and lists are sorted by it. What can
be searched stands on shelves, the public one and one for each owner of artifacts that
nobody else sees, so that nobody's search passes over what others own (`listing`).
"""

__all__ = ["FIRST_TABLES"]

FIRST_TABLES = (
    """
    CREATE TABLE accounts (
        id TEXT PRIMARY KEY,
        email TEXT NOT NULL,
        email_folded TEXT NOT NULL UNIQUE,
        password_hash TEXT NOT NULL,
        is_endorsed INTEGER NOT NULL DEFAULT 0,
        is_approved INTEGER NOT NULL DEFAULT 0,
        created_at TEXT NOT NULL
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE subscriptions (
        user_id TEXT PRIMARY KEY REFERENCES accounts(id),
        status TEXT NOT NULL,
        updated_at TEXT,
        subscription_id TEXT,
        event_id TEXT
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE payment_events (
        id TEXT PRIMARY KEY,
        type TEXT NOT NULL,
        created INTEGER NOT NULL,
        received_at TEXT NOT NULL,
        subscription_id TEXT,
        customer_id TEXT,
        user_id TEXT REFERENCES accounts(id),
        status TEXT
    ) WITHOUT ROWID
    """,
    """
    CREATE INDEX payment_events_by_subscription ON payment_events(subscription_id)
    """,
    "CREATE INDEX payment_events_by_customer ON payment_events(customer_id)",
    "CREATE INDEX payment_events_by_user ON payment_events(user_id)",
    """
    CREATE TABLE reset_requests (
        id TEXT PRIMARY KEY,
        email TEXT NOT NULL,
        requested_at TEXT NOT NULL,
        attempts INTEGER NOT NULL DEFAULT 0,
        due_at TEXT NOT NULL
    ) WITHOUT ROWID
    """,
    "CREATE INDEX reset_requests_by_due ON reset_requests(due_at)",
    """
    CREATE INDEX reset_requests_begun ON reset_requests(email)
    WHERE attempts > 0
    """,
    """
    CREATE TABLE reset_tokens (
        request_id TEXT PRIMARY KEY,
        user_id TEXT NOT NULL REFERENCES accounts(id),
        email TEXT NOT NULL,
        token_hash BLOB NOT NULL UNIQUE,
        issued_at TEXT NOT NULL,
        expires_at TEXT NOT NULL,
        ended_at TEXT
    ) WITHOUT ROWID
    """,
    "CREATE INDEX reset_tokens_by_user ON reset_tokens(user_id, issued_at)",
    """
    CREATE TABLE signing_keys (
        id TEXT PRIMARY KEY,
        user_id TEXT NOT NULL REFERENCES accounts(id),
        fingerprint TEXT NOT NULL UNIQUE,
        public_key BLOB NOT NULL,
        label TEXT,
        created_at TEXT NOT NULL,
        revoked_at TEXT
    ) WITHOUT ROWID
    """,
    "CREATE INDEX signing_keys_by_user ON signing_keys(user_id, created_at)",
    """
    CREATE TABLE artifacts (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        name TEXT NOT NULL,
        version TEXT NOT NULL,
        owner_id TEXT NOT NULL REFERENCES accounts(id),
        description TEXT,
        tags TEXT NOT NULL,
        dependencies TEXT NOT NULL,
        visibility TEXT NOT NULL,
        artifact_type TEXT NOT NULL,
        created_at TEXT NOT NULL,
        content_hash TEXT NOT NULL,
        signature BLOB,
        key_fingerprint TEXT,
        yanked INTEGER NOT NULL DEFAULT 0,
        yanked_reason TEXT,
        name_folded TEXT NOT NULL,
        description_folded TEXT NOT NULL,
        UNIQUE (name, version)
    )
    """,
    """
    CREATE INDEX artifacts_public ON artifacts(number)
    WHERE visibility = 'public' AND yanked = 0
    """,
    """
    CREATE INDEX artifacts_own ON artifacts(owner_id, number)
    WHERE visibility <> 'public' AND yanked = 0
    """,
    """
    CREATE TABLE contents (
        number INTEGER PRIMARY KEY REFERENCES artifacts(number),
        content BLOB NOT NULL,
        content_schema TEXT
    )
    """,
    """
    CREATE TABLE artifact_tags (
        shelf INTEGER NOT NULL,
        tag TEXT NOT NULL,
        number INTEGER NOT NULL REFERENCES artifacts(number),
        PRIMARY KEY (shelf, tag, number)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE dependencies (
        number INTEGER NOT NULL REFERENCES artifacts(number),
        position INTEGER NOT NULL,
        name TEXT NOT NULL,
        version TEXT NOT NULL,
        required INTEGER NOT NULL,
        PRIMARY KEY (number, position)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX dependencies_by_target ON dependencies(name, version)",
    """
    CREATE TABLE downloads (
        number INTEGER PRIMARY KEY REFERENCES artifacts(number),
        count INTEGER NOT NULL DEFAULT 0
    )
    """,
    # Substrings, case folded and spelled as words. Filled by `listing`: a trigger may
    # not write to a virtual table where schemas are not trusted. A row's id is its
    # shelf and its number. Where in a text they stand is not kept: texts that repeat
    # themselves would make searches slow.
    """
    CREATE VIRTUAL TABLE artifact_pieces USING fts5(
        pieces, content='', columnsize=0, detail='none', tokenize='ascii'
    )
    """,
    # Fewer parts of the index to look into, for a little more work at each publish.
    "INSERT INTO artifact_pieces (artifact_pieces, rank) VALUES ('automerge', 2)",
    # Small pages: the newest rows are found by reading one of each part.
    "INSERT INTO artifact_pieces (artifact_pieces, rank) VALUES ('pgsz', 1000)",
    # How many artifacts are seen: by all (`public`), and besides by ID (`own ID`). The
    # public shelf is the highest, so that its searches begin at the end of an index.
    """
    CREATE TABLE totals (
        shelf INTEGER PRIMARY KEY,
        scope TEXT NOT NULL UNIQUE,
        count INTEGER NOT NULL
    )
    """,
    "INSERT INTO totals VALUES (1073741824, 'public', 0)",
    """
    CREATE TRIGGER artifact_published AFTER INSERT ON artifacts BEGIN
        INSERT INTO totals VALUES (
            (SELECT min(shelf) - 1 FROM totals),
            iif(NEW.visibility = 'public', 'public', 'own ' || NEW.owner_id),
            1
        ) ON CONFLICT (scope) DO UPDATE SET count = count + 1;
        INSERT INTO downloads VALUES (NEW.number, 0);
    END
    """,
    """
    CREATE TRIGGER artifact_yanked AFTER UPDATE OF yanked ON artifacts
    WHEN NEW.yanked <> OLD.yanked BEGIN
        UPDATE totals SET count = count + OLD.yanked - NEW.yanked
        WHERE scope = iif(
            NEW.visibility = 'public', 'public', 'own ' || NEW.owner_id
        );
    END
    """,
    """
    CREATE TABLE endorsements (
        id TEXT PRIMARY KEY,
        number INTEGER NOT NULL REFERENCES artifacts(number),
        user_id TEXT NOT NULL REFERENCES accounts(id),
        level TEXT NOT NULL,
        created_at TEXT NOT NULL,
        UNIQUE (number, user_id)
    ) WITHOUT ROWID
    """,
)
"""Version 1 of the tables."""
