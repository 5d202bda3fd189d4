"""The bill of materials names everything that is there, and what it needs."""

import json
import os
import re
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest
from bill_of_materials import locked_hashes
from distributions import ROOT
from installed import canonical, installed
from site_packages import MIT, real_site, write_distribution

SCRIPT = ROOT / "packaging" / "bill_of_materials.py"
PROGRAMS = ("redlane", "redlane-hub")


def run(
    site: Path, out: Path, *extras: str, epoch: int = 0
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, str(SCRIPT), str(site), str(out), *extras],
        env={"PATH": os.environ["PATH"], "SOURCE_DATE_EPOCH": str(epoch)},
        capture_output=True,
        text=True,
        check=False,
    )


def bill(site: Path, *extras: str) -> dict[str, Any]:
    out = site.with_suffix(".json")
    done = run(site, out, *extras)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    found: dict[str, Any] = json.loads(out.read_text("utf-8"))
    return found


@pytest.fixture(params=PROGRAMS)
def real(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return real_site(request.param, tmp_path / "site")


def needs(document: dict[str, Any], reference: str) -> list[str]:
    (found,) = (
        each["dependsOn"]
        for each in document["dependencies"]
        if each["ref"] == reference
    )
    return list(found)


def test_every_distribution_is_a_component(real: Path) -> None:
    document = bill(real)
    everything = [document["metadata"]["component"], *document["components"]]
    named = {each["purl"] for each in everything if "#" not in each["bom-ref"]}
    there = {f"pkg:pypi/{each.name}@{each.version}" for each in installed(real)}
    assert named == there
    assert document["metadata"]["component"]["name"] in PROGRAMS


def test_document_has_the_form_of_the_specification(real: Path) -> None:
    document = bill(real)
    assert document["bomFormat"] == "CycloneDX"
    assert document["specVersion"] == "1.5"
    assert document["version"] == 1
    uuid.UUID(document["serialNumber"].removeprefix("urn:uuid:"))
    assert document["metadata"]["timestamp"] == "1970-01-01T00:00:00Z"
    allowed = {
        *("type", "bom-ref", "name", "version", "description", "licenses", "hashes"),
        *("externalReferences", "purl"),
    }
    for each in document["components"]:
        assert set(each) <= allowed
        assert {"type", "name", "purl", "bom-ref"} <= set(each)
        assert "version" in each or each["purl"].startswith("pkg:generic/")
        assert each["type"] in {"application", "library"}
        for reference in each.get("externalReferences", ()):
            for value in reference["hashes"]:
                assert value["alg"] == "SHA-256"
                assert re.fullmatch("[0-9a-f]{64}", value["content"])
        for licence in each.get("licenses", ()):
            assert len(licence) == 1


def test_references_are_unique_and_lead_somewhere(real: Path) -> None:
    document = bill(real)
    everything = [document["metadata"]["component"], *document["components"]]
    references = [each["bom-ref"] for each in everything]
    assert len(references) == len(set(references))
    told = [each["ref"] for each in document["dependencies"]]
    assert sorted(told) == sorted(references)
    for each in document["dependencies"]:
        assert set(each["dependsOn"]) <= set(references)


def test_every_component_has_a_licence_and_locked_hashes(real: Path) -> None:
    for each in bill(real)["components"]:
        assert each["licenses"], each["name"]
        if "#" not in each["bom-ref"]:
            assert each["externalReferences"][0]["hashes"], each["name"]


def test_program_leads_to_what_it_needs(tmp_path: Path) -> None:
    document = bill(real_site("redlane-hub", tmp_path / "site"))
    reached: set[str] = set()
    waiting = [document["metadata"]["component"]["bom-ref"]]
    while waiting:
        reference = waiting.pop()
        if reference not in reached:
            reached.add(reference)
            waiting += needs(document, reference)
    assert {each["bom-ref"] for each in document["components"]} <= reached


def test_what_a_wheel_was_compiled_from_is_listed(tmp_path: Path) -> None:
    site = tmp_path / "site"
    part = {"type": "library", "name": "crate", "purl": "pkg:cargo/crate@2?path=/x"}
    sbom = json.dumps({"components": [part, part, {"name": "no purl"}]})
    write_distribution(site, "rusty", files={"sboms/rusty.cyclonedx.json": sbom})
    document = bill(site)
    (rusty, crate) = document["components"]
    assert crate["purl"] == "pkg:cargo/crate@2"
    assert needs(document, rusty["bom-ref"]) == [crate["bom-ref"]]


def test_what_is_known_to_be_compiled_in_is_listed(tmp_path: Path) -> None:
    document = bill(real_site("redlane", tmp_path / "site"))
    named = {each["name"]: each["licenses"] for each in document["components"]}
    assert named["abseil-cpp"] == [{"license": {"id": "Apache-2.0"}}]
    (re2,) = (each for each in document["components"] if each["name"] == "google-re2")
    assert len(needs(document, re2["bom-ref"])) == 2


def test_markers_and_extras_decide_what_is_needed(tmp_path: Path) -> None:
    site = tmp_path / "site"
    write_distribution(
        site,
        "Top_Level",
        "Requires-Dist: always",
        "Requires-Dist: never; python_version < '3'",
        "Requires-Dist: Speedy.Thing[fast] >= 1; extra == ''",
        "Requires-Dist: only-tests; extra == 'test'",
        "Requires-Dist: gone",
    )
    for name in ("always", "never", "only-tests", "more", "most"):
        write_distribution(site, name)
    write_distribution(
        site,
        "speedy-thing",
        "Requires-Dist: more; extra == 'fast'",
        "Requires-Dist: speedy-thing[faster]; extra == 'fast'",
        "Requires-Dist: most; extra == 'faster'",
    )
    document = bill(site)
    assert needs(document, "pkg:pypi/top-level@1.0") == [
        "pkg:pypi/always@1.0",
        "pkg:pypi/speedy-thing@1.0",
    ]
    assert {"pkg:pypi/more@1.0", "pkg:pypi/most@1.0"} <= set(
        needs(document, "pkg:pypi/speedy-thing@1.0")
    )


def test_extras_that_were_asked_of_ours_are_needed(tmp_path: Path) -> None:
    site = tmp_path / "site"
    write_distribution(site, "redlane", "Requires-Dist: other; extra == 'proxy'")
    write_distribution(site, "other")
    assert needs(bill(site), "pkg:pypi/redlane@1.0") == []
    assert needs(bill(site, "proxy"), "pkg:pypi/redlane@1.0") == ["pkg:pypi/other@1.0"]


def test_two_runs_write_the_same_bytes(real: Path, tmp_path: Path) -> None:
    for name in "ab":
        assert run(real, tmp_path / name).returncode == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert str(ROOT) not in (tmp_path / "a").read_text()


def test_serial_number_is_that_of_the_contents(tmp_path: Path) -> None:
    numbers = set()
    for version in ("1.0", "1.1"):
        site = tmp_path / version
        write_distribution(site, "one", version=version)
        numbers.add(bill(site)["serialNumber"])
    assert len(numbers) == 2


def test_lock_names_hashes_by_version(tmp_path: Path) -> None:
    lock = tmp_path / "constraints.txt"
    lock.write_text(
        f"Some.Thing==1.0 ; python_version < '4' \\\n    --hash=sha256:{'b' * 64} \\\n"
        f"    --hash=sha256:{'a' * 64}\n    # via x\n"
        f"other==2 --hash=sha256:{'c' * 64}\n"
    )
    assert locked_hashes(lock) == {
        ("some-thing", "1.0"): ["a" * 64, "b" * 64],
        ("other", "2"): ["c" * 64],
    }
    assert canonical("Some.Thing") == "some-thing"


@pytest.mark.parametrize(
    "case", ["missing", "empty", "twice", "nameless", "unreadable"]
)
def test_what_is_no_site_packages_is_one_line(tmp_path: Path, case: str) -> None:
    site = tmp_path / "site"
    if case != "missing":
        site.mkdir()
    if case == "twice":
        write_distribution(site, "a.b")
        write_distribution(site, "a-b", version="2")
    if case == "nameless":
        write_distribution(site, "x").joinpath("METADATA").write_text("Version: 1\n")
    if case == "unreadable":
        write_distribution(site, "x", "Requires-Dist: ???")
    done = run(site, tmp_path / "out")
    assert done.returncode == 1
    assert done.stderr.startswith("bill_of_materials: ")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_licence_that_nothing_tells_is_left_out_here(tmp_path: Path) -> None:
    site = tmp_path / "site"
    write_distribution(site, "secretive")
    write_distribution(
        site, "open", "License: MIT", files={"LICENSE": MIT.format(year=1, holder="x")}
    )
    write_distribution(site, "both", "License-Expression: MIT  OR Apache-2.0")
    found = {each["name"]: each.get("licenses") for each in bill(site)["components"]}
    assert found == {
        "secretive": None,
        "open": [{"license": {"id": "MIT"}}],
        "both": [{"expression": "MIT OR Apache-2.0"}],
    }
