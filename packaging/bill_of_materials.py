#!/usr/bin/env python3
"""Writes what a site-packages directory holds, as a CycloneDX document.

    bill_of_materials.py SITE_PACKAGES OUTFILE [EXTRA]…

The extras are those that were asked of ours. Every distribution is a component with its
licence, the hashes that the lock allows and what it needs; what a wheel says that it
was compiled from is listed, too. Two runs over the same directory write the same bytes:
the date is that of SOURCE_DATE_EPOCH and the serial number is made from the contents.
"""

import json
import os
import re
import sys
import uuid
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from installed import Installed, canonical, installed, marker_environment
from licences import LicenceError, compiled_in, licence

__all__ = ["bill", "locked_hashes", "main"]

Document = dict[str, Any]

SPECIFICATION = "1.5"
LOCK = Path(__file__).parents[1] / "constraints.txt"
_OURS = re.compile(r"redlane(-|$)")
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_DNS, "bill-of-materials.redlane.example")


def bill(site: Path, lock: Path, date: str, extras: Iterable[str] = ()) -> Document:
    """The document of what is in `site`, with `extras` of ours."""
    distributions = installed(site)
    hashes = locked_hashes(lock)
    compiled = {each.name: list(_compiled_in(each)) for each in distributions}
    components = [_component(each, hashes) for each in distributions]
    components += [part for name in sorted(compiled) for part in compiled[name]]
    main = _main(distributions)
    asked = {main.name: set(extras)} if main else {}
    dependencies = list(_dependencies(distributions, compiled, asked))
    content = json.dumps([components, dependencies], sort_keys=True)
    return {
        "$schema": f"http://cyclonedx.org/schema/bom-{SPECIFICATION}.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": SPECIFICATION,
        "serialNumber": f"urn:uuid:{uuid.uuid5(_NAMESPACE, content)}",
        "version": 1,
        "metadata": {
            "timestamp": date,
            **({"component": _component(main, {})} if main else {}),
        },
        "components": [each for each in components if not _is(each, main)],
        "dependencies": dependencies,
    }


def _main(distributions: Iterable[Installed]) -> Installed | None:
    """What the packages are about: ours that no other one of ours is needed for."""
    names = {"redlane", "redlane-hub"}
    return next((each for each in distributions if each.name in names), None)


def _is(component: Document, main: Installed | None) -> bool:
    return main is not None and component["bom-ref"] == _reference(main)


def _reference(distribution: Installed) -> str:
    return f"pkg:pypi/{distribution.name}@{distribution.version}"


def _component(
    distribution: Installed, hashes: Mapping[tuple[str, str], list[str]]
) -> Document:
    key = (distribution.name, distribution.version)
    summary = distribution.metadata.get("Summary")
    known = [{"alg": "SHA-256", "content": each} for each in hashes.get(key, [])]
    ours = _OURS.match(distribution.name)
    return {
        "type": "application" if ours else "library",
        "bom-ref": _reference(distribution),
        "name": distribution.name,
        "version": distribution.version,
        **({"description": summary} if summary else {}),
        **_licences(distribution),
        **({"externalReferences": [_release(distribution, known)]} if known else {}),
        "purl": _reference(distribution),
    }


def _release(distribution: Installed, hashes: list[Document]) -> Document:
    """The files of a release: the one that fits the machine was installed."""
    return {
        "type": "distribution",
        "url": _reference(distribution),
        "comment": "the files that the lock allows",
        "hashes": hashes,
    }


def _licences(distribution: Installed) -> Document:
    try:
        expression = licence(distribution)
    except LicenceError:
        return {}
    if re.search(r" (AND|OR|WITH) ", expression):
        return {"licenses": [{"expression": expression}]}
    return {"licenses": [{"license": {"id": expression}}]}


def _compiled_in(distribution: Installed) -> Iterator[Document]:
    """What a wheel's own documents (PEP 770), or we, know that is compiled into it."""
    for known in compiled_in(distribution):
        purl = f"pkg:generic/{known.name}"
        yield {
            "type": "library",
            "bom-ref": f"{_reference(distribution)}#{purl}",
            "name": known.name,
            "licenses": [{"license": {"id": known.identifier}}],
            "purl": purl,
        }
    seen = set()
    for path in sorted(distribution.directory.glob("sboms/*.json")):
        for part in json.loads(path.read_text("utf-8")).get("components", ()):
            purl = str(part.get("purl", "")).partition("?")[0]
            if not purl or purl in seen:
                continue
            seen.add(purl)
            kept = ("type", "name", "version", "description", "hashes", "licenses")
            yield {
                "bom-ref": f"{_reference(distribution)}#{purl}",
                **{key: part[key] for key in kept if part.get(key)},
                "purl": purl,
            }


def _dependencies(
    distributions: list[Installed],
    compiled: Mapping[str, list[Document]],
    asked: Mapping[str, set[str]],
) -> Iterator[Document]:
    environment = marker_environment()
    present = {each.name: each for each in distributions}
    extras = _asked_extras(distributions, environment, asked)
    for each in distributions:
        needed = each.requirements(environment, extras[each.name])
        references = {_reference(present[name]) for name in needed if name in present}
        references |= {part["bom-ref"] for part in compiled[each.name]}
        yield {"ref": _reference(each), "dependsOn": sorted(references)}
        yield from (
            {"ref": part["bom-ref"], "dependsOn": []} for part in compiled[each.name]
        )


def _asked_extras(
    distributions: list[Installed],
    environment: Mapping[str, str],
    first: Mapping[str, set[str]],
) -> dict[str, set[str]]:
    """The extras that anybody asks of each distribution, and those that these ask."""
    asked = {each.name: set(first.get(each.name, ())) for each in distributions}
    while True:
        before = sum(map(len, asked.values()))
        for each in distributions:
            needed = each.requirements(environment, asked[each.name])
            for name, extras in needed.items():
                asked.get(name, set()).update(extras)
        if sum(map(len, asked.values())) == before:
            return asked


def locked_hashes(lock: Path) -> dict[tuple[str, str], list[str]]:
    """The SHA-256 of each file that the lock allows, by canonical name and version."""
    if not lock.exists():
        return {}
    hashes: dict[tuple[str, str], list[str]] = {}
    key = None
    for line in lock.read_text("utf-8").splitlines():
        pin = re.match(r"([A-Za-z0-9][\w.-]*)==([^\s;\\]+)", line)
        if pin:
            key = (canonical(pin[1]), pin[2])
        found = re.findall(r"--hash=sha256:([0-9a-f]{64})", line)
        if key and found:
            hashes.setdefault(key, []).extend(found)
    return {key: sorted(each) for key, each in hashes.items()}


def _timestamp() -> str:
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    moment = datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def main(arguments: list[str]) -> int:
    """Write the document, or say in one line why not."""
    if len(arguments) < 2:  # noqa: PLR2004  # the two of the usage
        sys.stderr.write("usage: bill_of_materials.py SITE_PACKAGES OUTFILE [EXTRA]…\n")
        return 2
    site, outfile, *extras = arguments
    try:
        document = bill(Path(site), LOCK, _timestamp(), extras)
    except (ValueError, OSError) as error:
        sys.stderr.write(f"bill_of_materials: {error}\n")
        return 1
    text = json.dumps(document, indent=2, ensure_ascii=False)
    Path(outfile).write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
