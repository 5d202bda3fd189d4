"""What a pull or a removal comes to, before anything is done."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from redlane.errors import LoadError
from redlane.hubclient import Artifact
from redlane.policies.files import read_file
from redlane.sharing.changes import Change, change_of
from redlane.sharing.contents import Policies, by_id, policies_of
from redlane.sharing.documents import as_bytes, digest_of
from redlane.sharing.errors import RefusedError
from redlane.sharing.fetching import Fetched, is_stated
from redlane.sharing.lock import Lock, Locked, policy_file, role_file
from redlane.wire.strict_json import JsonError, parse_json

__all__ = ["Plan", "plan_pull", "plan_removal"]


@dataclass(frozen=True, slots=True)
class Plan:
    """The lock as it will be, and what that changes.

    `files` are the files to write, and `gone` those of roles to remove, by their paths
    within the home; of the `former` files in `policies/hub` stays what the lock names.
    `kept_roles` are made no more of what they were made of: somebody has changed them.
    """

    lock: Lock
    former_hub: str
    former: tuple[str, ...]
    files: Mapping[str, bytes]
    gone: tuple[str, ...]
    changes: tuple[Change, ...]
    kept_roles: tuple[str, ...] = ()


def plan_pull(
    home: Path, lock: Lock, hub: str, fetched: Fetched, as_role: str | None = None
) -> Plan:
    """What it takes to have what was fetched; `as_role` is made of the roots.

    Raises LoadError for an artifact that holds no policies, and RefusedError where
    artifacts do not go together.
    """
    policies = {name: policies_of(each) for name, each in fetched.artifacts.items()}
    bare = {name: _locked(each, fetched) for name, each in fetched.artifacts.items()}
    merged = Lock(hub, {**lock.artifacts, **bare})
    after = merged.only(merged.reached({*lock.roots, *fetched.roots}))
    after.require_agreement()
    files = {policy_file(name): _file(each) for name, each in policies.items() if each}
    kept: list[str] = []
    for name in bare:
        before, own = lock.artifacts.get(name), policy_file(name)
        roles = {*_roles(home, before, kept)}
        if as_role is not None and name in fetched.roots:
            _require_free(home, role_file(as_role), before)
            roles.add(role_file(as_role))
        made = {path: _role(path, after, name, policies) for path in sorted(roles)}
        made |= {own: files[own]} if own in files else {}
        digests = {path: digest_of(data) for path, data in made.items()}
        after = _with_files(after, name, digests)
        files |= {
            path: made[path] for path in roles if lock.files.get(path) != digests[path]
        }
    changes = tuple(_changes(home, lock, after, fetched, policies))
    gone = _gone(home, lock, after, kept)
    return Plan(after, lock.hub, tuple(lock.files), files, gone, changes, tuple(kept))


def plan_removal(home: Path, lock: Lock, names: Collection[str]) -> Plan:
    """What it takes to have them no more, nor what only they needed.

    Raises RefusedError for what is not here, and for what is needed.
    """
    for name in names:
        if name not in lock.artifacts:
            raise RefusedError(
                f"there is no {name} here: redlane hub outdated lists all"
            )
        others = [each for each in lock.needing(name) if each not in names]
        if others:
            raise RefusedError(f"{', '.join(others)} needs {name}: remove that first")
    left = Lock(
        lock.hub,
        {key: each for key, each in lock.artifacts.items() if key not in names},
    )
    after = left.only(left.reached(each for each in lock.roots if each not in names))
    kept: list[str] = []
    changes = tuple(_changes(home, lock, after, Fetched((), {}), {}))
    gone = _gone(home, lock, after, kept)
    return Plan(after, lock.hub, tuple(lock.files), {}, gone, changes, tuple(kept))


def _locked(artifact: Artifact, fetched: Fetched) -> Locked:
    needed = {
        each.name: each.version
        for each in artifact.dependencies
        if each.name in fetched.artifacts
        and fetched.artifacts[each.name].version == each.version
    }
    key = artifact.key_fingerprint if artifact.signed else None
    return Locked(artifact.version, artifact.content_hash, key, needed, {})


def _file(policies: Policies) -> bytes:
    return as_bytes(list(policies.values()))


def _with_files(lock: Lock, name: str, files: Mapping[str, str]) -> Lock:
    locked = replace(lock.artifacts[name], files=files)
    return replace(lock, artifacts={**lock.artifacts, name: locked})


def _role(path: str, lock: Lock, name: str, policies: Mapping[str, Policies]) -> bytes:
    """A role of all policies that an artifact comes to, with what it needs."""
    reached = sorted(lock.reached([name]))
    ids = [each for one in reached for each in policies[one]]
    return as_bytes({"name": Path(path).stem, "policies": ids})


def _roles(home: Path, locked: Locked | None, kept: list[str]) -> Iterator[str]:
    """The roles that were made of an artifact, and that nobody has changed since."""
    for path in locked.role_files if locked else ():
        if _is_as_locked(home, path, locked):
            yield path
        elif (home / path).exists():
            kept.append(path)


def _require_free(home: Path, path: str, locked: Locked | None) -> None:
    file = home / path
    if (file.exists() or file.is_symlink()) and not _is_as_locked(home, path, locked):
        raise RefusedError(
            f"{file} is there already, and not of this artifact: name another role"
        )


def _is_as_locked(home: Path, path: str, locked: Locked | None) -> bool:
    with suppress(LoadError):
        return bool(locked) and digest_of(read_file(home / path)) == (
            locked.files.get(path)  # type: ignore[union-attr]  # it is there
        )
    return False


def _gone(home: Path, lock: Lock, after: Lock, kept: list[str]) -> tuple[str, ...]:
    """Roles of what goes; one that somebody has changed stays, and is told."""
    gone: list[str] = []
    for name, locked in lock.artifacts.items():
        if name in after.artifacts:
            continue
        gone += _roles(home, locked, kept)
    return tuple(gone)


def _changes(
    home: Path,
    lock: Lock,
    after: Lock,
    fetched: Fetched,
    policies: Mapping[str, Policies],
) -> Iterator[Change]:
    """What becomes of what was fetched, and of what goes."""
    for name in sorted({*lock.artifacts, *fetched.artifacts}):
        before, now = lock.artifacts.get(name), after.artifacts.get(name)
        artifact = fetched.artifacts.get(name)
        if now is not None and artifact is None:
            continue
        yield change_of(
            name,
            before=before.version if before else None,
            after=now.version if now else None,
            key=now.key_fingerprint if now else None,
            is_stated=artifact is not None and is_stated(artifact),
            owner=artifact.owner if artifact else None,
            old=_installed(home, name),
            new=policies.get(name) if now else {},
        )


def _installed(home: Path, name: str) -> Policies:
    """The policies of an artifact as they stand in its file; none if it is damaged."""
    with suppress(LoadError, JsonError, ValueError):
        return by_id(parse_json(read_file(home / policy_file(name))))
    return {}
