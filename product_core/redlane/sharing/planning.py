"""What a pull or a removal comes to, before anything is done."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from redlane.errors import LoadError
from redlane.hubclient import Artifact
from redlane.policies.files import read_file
from redlane.sharing.changes import Change, change_of
from redlane.sharing.contents import Policies, by_id, policies_of
from redlane.sharing.documents import NONE_OF_OURS, as_bytes, digest_of, text
from redlane.sharing.errors import RefusedError
from redlane.sharing.fetching import Fetched, is_stated
from redlane.sharing.lock import Lock, Locked, policy_file, role_file
from redlane.sharing.names import is_older
from redlane.wire.strict_json import JsonError, parse_json

__all__ = ["Plan", "plan_pull", "plan_removal"]


@dataclass(frozen=True, slots=True)
class Plan:
    """The lock as it will be, and what that changes.

    `files` are the files to write, and `gone` those of roles to remove, by their paths
    within the home; of the `former` files in `policies/hub` stays what the lock names.
    `kept_roles` are made no more of what they were made of: somebody has changed them.
    `seen` are the digests of all these files as they are; None: there is none.
    """

    lock: Lock
    former_hub: str
    former: Mapping[str, str]
    files: Mapping[str, bytes]
    gone: tuple[str, ...]
    changes: tuple[Change, ...]
    kept_roles: tuple[str, ...] = ()
    seen: Mapping[str, str | None] = field(default_factory=dict)


def plan_pull(
    home: Path, lock: Lock, hub: str, fetched: Fetched, as_role: str | None = None
) -> Plan:
    """What it takes to have what was fetched; `as_role` is made of the roots.

    Raises LoadError for an artifact that holds no policies, and RefusedError where
    artifacts do not go together.
    """
    policies = {name: policies_of(each) for name, each in fetched.artifacts.items()}
    bare = {name: _locked(each, fetched) for name, each in fetched.artifacts.items()}
    roots = dict.fromkeys((*lock.roots, *fetched.roots))
    merged = Lock(hub, {**lock.artifacts, **bare})
    after = merged.only(merged.reached(roots)).asking(roots)
    _require_not_older(lock, after, fetched.roots)
    after.require_agreement()
    files = {policy_file(name): _file(each) for name, each in policies.items() if each}
    roles = _Roles(home, lock)
    for name in bare:
        own = policy_file(name)
        made = {own: files[own]} if own in files else {}
        wanted = as_role if name in fetched.roots else None
        made |= roles.remade(name, after, policies, wanted)
        digests = {path: digest_of(data) for path, data in made.items()}
        after = _with_files(after, name, digests)
        files |= {
            k: each for k, each in made.items() if lock.files.get(k) != digests[k]
        }
    changes = tuple(_changes(home, lock, after, fetched, policies))
    return _plan(roles, after, files, changes)


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
    kept = {key: each for key, each in lock.artifacts.items() if key not in names}
    roots = [each for each in lock.roots if each not in names]
    left = Lock(lock.hub, kept)
    after = left.only(left.reached(roots)).asking(roots)
    changes = tuple(_changes(home, lock, after, Fetched((), {}), {}))
    return _plan(_Roles(home, lock), after, {}, changes)


def _plan(
    roles: "_Roles",
    after: Lock,
    files: Mapping[str, bytes],
    changes: tuple[Change, ...],
) -> Plan:
    lock, gone = roles.lock, roles.gone(after)
    seen = {path: _digest(roles.home / path) for path in (*lock.files, *files, *gone)}
    kept = tuple(dict.fromkeys(roles.kept))
    return Plan(after, lock.hub, lock.files, files, gone, changes, kept, seen)


def _require_not_older(lock: Lock, after: Lock, roots: Collection[str]) -> None:
    """What somebody has asked for does not go back because something else needs it."""
    for name in lock.roots:
        here, then = lock.artifacts[name], after.artifacts.get(name)
        if then and name not in roots and is_older(then.version, here.version):
            raise RefusedError(
                f"{name} is here as {here.version}, as was asked for, and what is "
                f"pulled needs it as {then.version}, which is older: remove it first, "
                f"or pull {name}@{then.version}"
            )


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


class _Roles:
    """The roles that were made of artifacts; `kept` are those that are ours no more."""

    def __init__(self, home: Path, lock: Lock) -> None:
        self.home = home
        self.lock = lock
        self.kept: list[str] = []

    def remade(
        self,
        name: str,
        after: Lock,
        policies: Mapping[str, Policies],
        wanted: str | None,
    ) -> dict[str, bytes]:
        """Those of an artifact as they will be, with one that is `wanted`."""
        reached = sorted(after.reached([name]))
        ids = [each for one in reached for each in policies[one]]
        paths = (
            list(self.lock.artifacts[name].role_files) if self._is_here(name) else []
        )
        made = {}
        for path in paths:
            data = _role(path, ids)
            if self._is_ours(name, path, data, ids):
                made[path] = data
            elif (self.home / path).exists():
                self.kept.append(path)
        if wanted is not None and role_file(wanted) not in made:
            path, data = role_file(wanted), _role(role_file(wanted), ids)
            file = self.home / path
            is_there = file.exists() or file.is_symlink()
            if is_there and _digest(file) != digest_of(data):
                raise RefusedError(
                    f"{file} is there already, and not of this artifact: name another "
                    "role"
                )
            made[path] = data
        return made

    def gone(self, after: Lock) -> tuple[str, ...]:
        """Those of what goes; one that somebody has changed stays, and is told."""
        found = []
        for name, locked in self.lock.artifacts.items():
            for path in () if name in after.artifacts else locked.role_files:
                if self._is_ours(name, path, b"", ()):
                    found.append(path)
                elif (self.home / path).exists():
                    self.kept.append(path)
        return tuple(found)

    def _is_here(self, name: str) -> bool:
        return name in self.lock.artifacts

    def _is_ours(
        self, name: str, path: str, to_be: bytes, ids: Collection[str]
    ) -> bool:
        """Whether it is as locked, and a role that we make, or as it is to be.

        A lock may come from somebody else: a role of one's own is none of ours for
        standing in it.
        """
        known = {*ids}
        for one in self.lock.reached([name]):
            known |= {*_installed(self.home, self.lock, one)}
        try:
            data = read_file(self.home / path)
            role = parse_json(data)
            policies = [text(each) for each in role["policies"]]
        except (LoadError, JsonError, *NONE_OF_OURS):
            return False
        is_locked = digest_of(data) == self.lock.artifacts[name].files.get(path)
        is_made = data == _role(path, policies) and bool(policies or not known)
        return data == to_be or (is_locked and is_made and known.issuperset(policies))


def _role(path: str, ids: Collection[str]) -> bytes:
    """A role of all policies that an artifact comes to, with what it needs."""
    return as_bytes({"name": Path(path).stem, "policies": list(ids)})


def _digest(path: Path) -> str | None:
    """That of a file; None when there is none, or what is there is none."""
    with suppress(LoadError):
        return digest_of(read_file(path))
    return None


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
            needs=_new_needs(before, now),
            old=_installed(home, lock, name),
            new=policies.get(name) if now else {},
        )


def _new_needs(
    before: Locked | None, now: Locked | None
) -> tuple[tuple[str, str], ...]:
    """What a version that stays needs more than it did; others show by themselves."""
    if before is None or now is None or before.version != now.version:
        return ()
    known = before.dependencies.items()
    return tuple(each for each in now.dependencies.items() if each not in known)


def _installed(home: Path, lock: Lock, name: str) -> Policies:
    """The policies of an artifact, if its file is what was pulled; else none."""
    path = policy_file(name)
    with suppress(LoadError, JsonError, ValueError):
        data = read_file(home / path)
        if digest_of(data) == lock.files.get(path):
            return by_id(parse_json(data))
    return {}
