"""The copyright file tells of every bundled distribution, or fails in one line."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from copyright_file import copyright_file, holders
from distributions import ROOT
from installed import installed
from licences import KNOWN, LicenceError, identify, licence
from site_packages import APACHE, MIT, real_site, write_distribution

SCRIPT = ROOT / "packaging" / "copyright_file.py"
Paragraph = dict[str, str]


def parse(text: str) -> list[Paragraph]:
    """The paragraphs of a file in the machine-readable format, strictly."""
    paragraphs: list[Paragraph] = []
    for block in text.rstrip("\n").split("\n\n"):
        fields: Paragraph = {}
        name = ""
        for line in block.split("\n"):
            if line.startswith(" "):
                assert line.strip(), "an empty line must be a point"
                fields[name] += f"\n{line[1:]}"
                continue
            name, colon, value = line.partition(":")
            assert colon, line
            assert name not in fields, line
            fields[name] = value.strip()
        paragraphs.append(fields)
    return paragraphs


@pytest.fixture(params=["redlane", "redlane-hub"])
def real(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return real_site(request.param, tmp_path / "site")


def names(expression: str) -> list[str]:
    return re.split(" and | or ", expression)


def test_every_distribution_has_a_paragraph(real: Path) -> None:
    paragraphs = parse(copyright_file(real))
    comments = " ".join(each.get("Comment", "") for each in paragraphs[2:])
    for each in installed(real):
        if not each.name.startswith("redlane"):
            assert f"{each.title} {each.version}: " in comments
    for each in paragraphs[1:]:
        if "Files" in each:
            assert each["Copyright"].strip()
            assert each["License"]


def test_head_and_ours_stand_first(real: Path) -> None:
    head, ours, *_ = parse(copyright_file(real))
    assert head["Format"].endswith("/copyright-format/1.0/")
    assert ours["Files"] == "*"
    assert "Redlane" in ours["Copyright"]


def test_every_licence_that_is_named_has_its_text_once(real: Path) -> None:
    paragraphs = parse(copyright_file(real))
    told = [each for each in paragraphs if "License" in each and "Files" not in each]
    texts = {each["License"].partition("\n")[0]: each["License"] for each in told}
    assert len(texts) == len(told)
    named = {
        name
        for each in paragraphs
        if "Files" in each
        for name in names(each["License"])
    }
    assert named == set(texts)
    assert all("\n" in text for text in texts.values())


def test_patterns_fit_what_is_there(real: Path) -> None:
    everything = {
        f"/site-packages/{path.name}" for path in real.iterdir() if path.name != "bin"
    }
    patterns = {
        pattern.removeprefix("*").removesuffix("/*")
        for each in parse(copyright_file(real))[2:]
        for pattern in each.get("Files", "").split()
    }
    assert patterns <= everything
    left = {path for path in everything - patterns if "redlane" not in path}
    assert left <= {"/site-packages/__pycache__"}


def test_full_text_that_debian_has_is_not_repeated(real: Path) -> None:
    text = copyright_file(real).lower()
    assert "terms and conditions for use, reproduction" not in text
    assert "/usr/share/common-licenses/apache-2.0" in text


def test_equal_texts_are_told_once_and_different_ones_apart(tmp_path: Path) -> None:
    spaced = MIT.format(year=2001, holder="Ada").replace(" ", "  ")
    other = MIT.format(year=2002, holder="Bob") + "No other use is permitted.\n"
    for name, text in {
        "a": MIT.format(year=2000, holder="Eve"),
        "b": spaced,
        "c": other,
    }.items():
        write_distribution(tmp_path, name, "License: MIT", files={"LICENSE": text})
    *paragraphs, apache, mit, variant = parse(copyright_file(tmp_path))
    assert apache["License"].startswith("Apache-2.0\n")
    assert [each["License"] for each in paragraphs[2:]] == [
        "MIT",
        "MIT",
        "MIT-variant-2",
    ]
    assert [each["Copyright"] for each in paragraphs[2:]] == [
        "\n2000 Eve",
        "\n2001 Ada",
        "\n2002 Bob",
    ]
    assert "Eve" not in mit["License"]
    assert "No other use" in variant["License"]


def test_licences_of_what_is_bundled_in_a_bundle_are_told(tmp_path: Path) -> None:
    write_distribution(
        tmp_path,
        "outer",
        "License-Expression: Apache-2.0",
        "Author: Ada",
        files={
            "licenses/LICENSE": APACHE,
            "licenses/vendored/LICENSE": MIT.format(year=1999, holder="Eve"),
            "licenses/NOTICE": "This product includes\n\nthings of others.\n",
        },
    )
    outer = parse(copyright_file(tmp_path))[2]
    assert outer["License"] == "Apache-2.0 and MIT"
    assert outer["Copyright"] == "\n1999 Eve"
    assert outer["Comment"].endswith("\n.\nThis product includes\n.\nthings of others.")


def test_what_is_compiled_into_a_bundle_is_told(tmp_path: Path) -> None:
    paragraphs = parse(copyright_file(real_site("redlane", tmp_path / "site")))
    (re2,) = (each for each in paragraphs if "google-re2" in each.get("Comment", ""))
    assert "2017 The Abseil Authors (abseil-cpp)" in re2["Copyright"]
    assert "2016 Wenzel Jakob" in re2["Copyright"]
    assert "Apache-2.0" in names(re2["License"])


def test_texts_that_are_kept_here_are_what_they_are_called() -> None:
    kept = list((ROOT / "packaging" / "licence_texts").iterdir())
    assert {path.stem for path in kept} >= {"MIT", "BSD-3-Clause"}
    for path in kept:
        assert identify(path.read_text()) == {path.stem}


def test_text_of_a_known_licence_without_a_file_is_told(tmp_path: Path) -> None:
    write_distribution(tmp_path, "mitmproxy_rs", "License: MIT")
    *_, text = parse(copyright_file(tmp_path))
    assert text["License"].startswith("MIT\nPermission is hereby granted")


def test_lesser_licence_is_told_and_left_to_debian(tmp_path: Path) -> None:
    full = (
        "GNU LESSER GENERAL PUBLIC LICENSE\nVersion 3, 29 June 2007\n" + "text\n" * 99
    )
    write_distribution(tmp_path, "ldap3", files={"COPYING.LESSER.txt": full})
    *_, text = parse(copyright_file(tmp_path))
    assert text["License"].startswith("LGPL-3.0-or-later\n")
    assert text["License"].endswith("/usr/share/common-licenses/LGPL-3.")
    assert "29 June" not in text["License"]


def test_licence_nobody_knows_is_passed_on_whole(tmp_path: Path) -> None:
    text = "Copyright 2020 Ada\nBeerware: buy me one.\n"
    write_distribution(
        tmp_path, "odd", "License-Expression: Beerware", files={"LICENSE": text}
    )
    *_, odd, _, beer = parse(copyright_file(tmp_path))
    assert odd["License"] == "Beerware-odd"
    assert beer["License"] == "Beerware-odd\nCopyright 2020 Ada\nBeerware: buy me one."


UNTOLD = {
    "no licence": ((), {}, "tells no licence"),
    "vague classifier": (
        ("Classifier: License :: OSI Approved :: BSD License",),
        {},
        "tells no licence",
    ),
    "several classifiers": (
        (
            "Classifier: License :: OSI Approved :: MIT License",
            "Classifier: License :: OSI Approved :: Apache Software License",
        ),
        {},
        "tells no licence",
    ),
    "text says otherwise": (
        ("License: MIT",),
        {"LICENSE": APACHE},
        "says MIT, its licence file Apache-2.0",
    ),
    "no text": (("License: MIT", "Author: Ada"), {}, "has no licence file"),
    "no holder": (("License: Apache-2.0",), {"LICENSE": APACHE}, "copyright holder"),
}


@pytest.mark.parametrize(("headers", "files", "told"), UNTOLD.values(), ids=UNTOLD)
def test_licence_that_cannot_be_told_fails_in_one_line(
    tmp_path: Path, headers: tuple[str, ...], files: dict[str, str], told: str
) -> None:
    write_distribution(tmp_path / "site", "vague", *headers, files=files)
    out = tmp_path / "copyright"
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(tmp_path / "site"), str(out)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("copyright_file: vague 1.0: ")
    assert told in done.stderr
    assert done.stderr.count("\n") == 1
    assert not out.exists()


@pytest.mark.parametrize(
    ("line", "holder"),
    [
        ("Copyright (c) 2015-2022 José Padilla", "2015-2022 José Padilla"),
        (" * Copyright © 2001, Ada", "2001, Ada"),
        ("# Copyright: 2001 Ada", "2001 Ada"),
        ("Copyright (c) Ada and others", "Ada and others"),
        ("  MPL-2.0 2020-2026 (c) Ada", "2020-2026 Ada"),
        ("Copyright (c) 2013-2026\n * Ada <a@b>", "2013-2026 Ada <a@b>"),
        ("Copyright 2009 The RE2 Authors.", "2009 The RE2 Authors."),
    ],
)
def test_holder_is_read(tmp_path: Path, line: str, holder: str) -> None:
    write_distribution(tmp_path, "x")
    (each,) = installed(tmp_path)
    assert holders(each, [f"Title\n\n{line}\n"]) == [holder]


@pytest.mark.parametrize(
    "line",
    [
        "   2. Grant of Copyright License. Subject to the terms",
        "   Copyright [yyyy] [name of copyright owner]",
        "copyright notice, this list of conditions",
        "THE COPYRIGHT HOLDERS AND CONTRIBUTORS",
    ],
)
def test_sentence_of_a_licence_is_no_holder(tmp_path: Path, line: str) -> None:
    write_distribution(tmp_path, "x", "Author: Ada")
    (each,) = installed(tmp_path)
    assert holders(each, [line]) == ["Ada"]


def test_nobody_is_no_holder(tmp_path: Path) -> None:
    write_distribution(tmp_path, "x")
    (each,) = installed(tmp_path)
    with pytest.raises(LicenceError):
        holders(each, [])


def test_licence_files_of_what_is_installed_agree_with_its_metadata(real: Path) -> None:
    for each in installed(real):
        assert licence(each)


def test_known_facts_name_their_source() -> None:
    assert all(each.source for each in KNOWN.values())
    assert all(part.source for each in KNOWN.values() for part in each.parts)


def test_texts_are_told_apart() -> None:
    assert identify(MIT) == {"MIT"}
    assert identify(APACHE) == {"Apache-2.0"}
    assert identify(MIT + APACHE) == {"MIT", "Apache-2.0"}
    assert identify("all rights reserved") == frozenset()
