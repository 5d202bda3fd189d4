"""Publishing an artifact: every check in the specification's order, then one write.

Nothing is persisted before all checks have passed. What another request could have
changed meanwhile, the key, the account and the name, is looked at again inside the
transaction that writes (hub API: Artifacts).
"""

from dataclasses import dataclass
from typing import Any, Protocol

from redlane_hub.clock import Clock, timestamp
from redlane_hub.errors import (
    ConflictError,
    ForbiddenError,
    InvalidInputError,
    NotAuthenticatedError,
)
from redlane_hub.identifiers import new_id
from redlane_hub.model import Account, Dependency, SigningKey
from redlane_hub.security import signatures
from redlane_hub.services import publish_rules as rules
from redlane_hub.services.dependencies import check_walk
from redlane_hub.settings import Settings
from redlane_hub.store import accounts, artifacts, keys
from redlane_hub.store.artifacts import NewArtifact
from redlane_hub.store.database import Database
from redlane_hub.wire.encoding import read_base64
from redlane_hub.wire.publishing import (
    LONGEST_NAME,
    LONGEST_VERSION,
    MOST_DEPENDENCIES,
    PublishForm,
)

__all__ = ["Checker", "Published", "Publishing"]

_MOST_VISITED = 10_000
"""How many artifacts a search for a cycle visits."""


class Checker(Protocol):
    """Tells whether content conforms to a schema."""

    def problem(
        self, schema: dict[str, Any], content: str, caller: str = ""
    ) -> str | None:
        """Why not, in one line, or None."""


@dataclass(frozen=True, slots=True)
class Published:
    """An artifact that was published, when, and its owner's address."""

    artifact: NewArtifact
    created_at: str
    owner: str


class Publishing:
    """Publishes artifacts for approved accounts."""

    def __init__(
        self, database: Database, clock: Clock, checker: Checker, settings: Settings
    ) -> None:
        self._database = database
        self._clock = clock
        self._checker = checker
        self._largest_content = settings.max_content_bytes
        self._require_signatures = settings.require_signatures

    def publish(self, caller: Account, form: PublishForm) -> Published:
        """Check everything, then publish. The first problem found is raised."""
        new = self._checked(caller.id, form)
        with self._database.transaction() as connection:
            owner = _approved(accounts.find(connection, caller.id))
            if new.key_fingerprint is not None:
                _usable(keys.find_usable(connection, caller.id, new.key_fingerprint))
            if artifacts.exists(connection, new.name, new.version):
                raise ConflictError(
                    f"artifact '{new.name}@{new.version}' already exists"
                )
            # The order of publication is the order of the moments, whatever the clock.
            now = timestamp(self._clock())
            created_at = max(now, artifacts.newest(connection))
            artifacts.insert(connection, new, created_at)
        return Published(new, created_at, owner.email)

    def _checked(self, caller_id: str, form: PublishForm) -> NewArtifact:
        """The artifact to write, once everything about it is in order."""
        rules.check_name(form.name)
        rules.check_version(form.version)
        rules.check_tags(form.tags)
        rules.check_description(form.description)
        content = rules.content_bytes(form.content, self._largest_content)
        self._check_schema(caller_id, form)
        visibility = rules.read_visibility(form.visibility)
        artifact_type = rules.read_artifact_type(form.artifact_type)
        dependencies = rules.distinct_dependencies(form.dependencies)
        rules.check_set(artifact_type, dependencies)
        self._check_dependencies(caller_id, form, dependencies)
        content_hash = signatures.content_hash(content)
        return NewArtifact(
            id=new_id(),
            name=form.name,
            version=form.version,
            owner_id=caller_id,
            description=form.description,
            tags=tuple(dict.fromkeys(form.tags)),
            dependencies=dependencies,
            visibility=visibility,
            artifact_type=artifact_type,
            content=content,
            content_hash=content_hash,
            content_schema=form.schema,
            signature=self._signature(caller_id, form, content_hash),
            key_fingerprint=form.key_fingerprint,
        )

    def _check_schema(self, caller_id: str, form: PublishForm) -> None:
        if form.schema is None:
            return
        rules.check_schema_size(form.schema, self._largest_content)
        problem = self._checker.problem(form.schema, form.content, caller_id)
        if problem is not None:
            raise InvalidInputError(problem)

    def _check_dependencies(
        self, caller_id: str, form: PublishForm, dependencies: tuple[Dependency, ...]
    ) -> None:
        """Each exists and is the caller's to read, and none leads back here."""
        target = Dependency(form.name, form.version)
        reading = self._database.reading()
        itself = False
        # One that is missing is named, also where there are too many.
        for each in dependencies[:MOST_DEPENDENCIES]:
            if (each.name, each.version) == (form.name, form.version):
                itself = True
            elif not artifacts.is_seen_by(reading, each.name, each.version, caller_id):
                raise InvalidInputError(
                    f"'dependencies': '{_shown(each)}' does not exist"
                )
        rules.check_dependencies(dependencies)
        if itself or artifacts.reaches(reading, dependencies, target, _MOST_VISITED):
            raise InvalidInputError(f"'dependencies' form a cycle back to '{target}'")
        check_walk(reading, dependencies)

    def _signature(
        self, caller_id: str, form: PublishForm, content_hash: str
    ) -> bytes | None:
        """The verified signature, or None when there is none and none is required."""
        if (form.signature is None) != (form.key_fingerprint is None):
            raise InvalidInputError(
                "'signature' and 'key_fingerprint' must be sent together"
            )
        if form.signature is None or form.key_fingerprint is None:
            if self._require_signatures:
                raise InvalidInputError(
                    "this hub requires a signature: "
                    "send 'signature' and 'key_fingerprint'"
                )
            return None
        reading = self._database.reading()
        found = keys.find_usable(reading, caller_id, form.key_fingerprint)
        public_key = _usable(found).public_key
        signature = read_base64(form.signature, "'signature'")
        if len(signature) != signatures.SIGNATURE_BYTES:
            raise InvalidInputError(
                f"'signature' must be {signatures.SIGNATURE_BYTES} bytes, "
                f"not {len(signature)}"
            )
        if not signatures.verifies(public_key, content_hash, signature):
            raise InvalidInputError(
                "'signature' does not verify against the content's hash: sign the 64 "
                "hex digits of its SHA-256, as text"
            )
        return signature


def _approved(account: Account | None) -> Account:
    """The account as it is now; approval may have been taken back meanwhile."""
    if account is None:
        raise NotAuthenticatedError("missing or invalid token")
    if not account.is_approved:
        raise ForbiddenError("your account is pending admin approval")
    return account


def _usable(key: SigningKey | None) -> SigningKey:
    if key is None:
        raise InvalidInputError(
            "'key_fingerprint' is no registered, unrevoked key of yours"
        )
    return key


def _shown(dependency: Dependency) -> str:
    """As `name@version`, on one line, without what no artifact can be called."""
    name, version = dependency.name, dependency.version
    if len(name) > LONGEST_NAME:
        name = f"{name[:LONGEST_NAME]}…"
    if len(version) > LONGEST_VERSION:
        version = f"{version[:LONGEST_VERSION]}…"
    text = f"{name}@{version}"
    return "".join(each if each.isprintable() else "�" for each in text)
