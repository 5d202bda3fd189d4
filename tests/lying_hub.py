"""What a hub tells of an artifact NAME, which needs LOW; and of what it does not have.

In truth NAME is there as version 2, and so is LOW; both are signed by KEY.
"""

from collections.abc import Mapping
from typing import Any

from hostile_hub import Answer, RoutedHub, json_answer
from hub_people import policy

from redlane.hubclient.signing import canonical, content_hash

__all__ = [
    "API",
    "KEY",
    "LOW",
    "NAME",
    "OTHER",
    "article",
    "holding",
    "lying",
    "need",
    "routes",
    "shelf",
    "walk",
]

NAME, LOW = "name", "low"
KEY, OTHER = "1" * 64, "2" * 64
API = "/api/v1/artifacts/"
Shelf = dict[str, dict[str, Any]]
"""What a hub has, by NAME@VERSION, the newest first."""


def article(named: str, **fields: Any) -> dict[str, Any]:
    """What an honest hub tells of an artifact that is signed; or what a test has it."""
    name, _, version = named.partition("@")
    content = fields.get("content", [policy(f"{name}-policy", description=version)])
    plain = {
        "id": named,
        "name": name,
        "version": version,
        "description": None,
        "owner": "ada@example.org",
        "owner_is_endorsed": False,
        "tags": [],
        "downloads": 0,
        "visibility": "public",
        "created_at": f"2026-01-0{version[:1]}T00:00:00+00:00",
        "content": content,
        "content_hash": content_hash(canonical(content)),
        "content_schema": None,
        "signed": True,
        "key_fingerprint": KEY,
        "signature_valid": True,
        "artifact_type": "artifact",
        "yanked": False,
        "yanked_reason": None,
        "dependencies": [],
    }
    return {**plain, **fields}


def holding(content: Any) -> dict[str, Any]:
    """The fields of that content, which has the hash that is told."""
    return {"content": content, "content_hash": content_hash(canonical(content))}


def need(named: str, **fields: Any) -> dict[str, Any]:
    """One thing that something needs, by its name and version."""
    name, _, version = named.rpartition("@")
    return {"name": name, "version": version, "required": True, **fields}


def walk(root: str, *needs: str) -> Answer:
    """All that something needs, as a hub tells it."""
    found = [need(each, depth=1, found=True) for each in needs]
    return json_answer({"root": root, "dependencies": found})


def shelf() -> Shelf:
    """What the hub has in truth."""
    needs = [need(f"{LOW}@2")]
    return {
        f"{NAME}@2": article(f"{NAME}@2", dependencies=needs),
        f"{LOW}@2": article(f"{LOW}@2"),
        f"{LOW}@1": article(f"{LOW}@1"),
        f"{NAME}@1": article(f"{NAME}@1"),
    }


def routes(has: Shelf) -> dict[str, Answer]:
    """How a hub tells of what it has."""
    newest = json_answer({"results": [*has.values()], "total": len(has)})
    found = {f"{API}search": newest}
    for named, each in has.items():
        place = API + named.replace("@", "/")
        needs = [f"{e['name']}@{e['version']}" for e in each["dependencies"]]
        found[place] = json_answer(each)
        found[f"{place}/resolve"] = walk(named, *needs)
        found[f"{API}{named}/endorsements"] = json_answer([])
    return found


def lying(hub: RoutedHub, lies: Mapping[str, Any]) -> None:
    """Have it tell this of NAME@2, or of what is named, and the truth of all else."""
    has = shelf()
    for named, fields in lies.items():
        if fields is None:
            del has[named]
        else:
            old = has.pop(named, None)
            made = {**old, **fields} if old else article(named, **fields)
            has = {named: made, **has}
    hub.routes = routes(has)
