"""The licence of a distribution as an SPDX expression, told by its metadata and files.

The metadata's expression comes first, then the old field and the classifiers when they
name one licence, then the known facts below. The text of the licence has to agree: a
claim that its own text denies is told as no licence.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from installed import Installed

__all__ = [
    "KNOWN",
    "Known",
    "LicenceError",
    "Part",
    "compiled_in",
    "identify",
    "licence",
    "licence_files",
]


class LicenceError(ValueError):
    """The licence of a distribution cannot be told; the message names it."""


@dataclass(frozen=True, slots=True)
class Part:
    """What a wheel has compiled into it without a word in its metadata."""

    name: str
    identifier: str
    holder: str
    source: str


@dataclass(frozen=True, slots=True)
class Known:
    """What metadata does not tell, and where it was read.

    An empty `expression` leaves the licence to the metadata; `holders` are those of the
    copyright when the licence file has none in plain lines.
    """

    expression: str
    source: str
    holders: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()


_PYO3 = Part(
    "pyo3",
    "Apache-2.0",
    "2017 PyO3 Project and Contributors",
    "LICENSE-APACHE of PyO3, and the names of its files in the wheel's library",
)
_OPENSSL = Part(
    "openssl",
    "Apache-2.0",
    "1998-2026 The OpenSSL Project Authors",
    "LICENSE.txt of OpenSSL, whose symbols are in the wheel's library",
)

_NOTICES = (
    "ThirdPartyNotices.txt and Privacy.md in its wheel, and the symbols of its library"
)
_IN_ONNXRUNTIME = tuple(
    Part(name, identifier, holder, _NOTICES)
    for name, identifier, holder in (
        ("abseil-cpp", "Apache-2.0", "2017 The Abseil Authors"),
        ("cpp_client_telemetry", "Apache-2.0", "Microsoft Corporation"),
        (
            "cpuinfo",
            "BSD-2-Clause",
            (
                "2019 Google LLC, 2017-2018 Facebook Inc., 2012-2017 Georgia Institute "
                "of Technology, 2010-2012 Marat Dukhan"
            ),
        ),
        ("curl", "curl", "Daniel Stenberg, <daniel@haxx.se>, and many contributors"),
        ("dlpack", "Apache-2.0", "2017 by Contributors"),
        ("eigen", "MPL-2.0", "Benoit Jacob, Gael Guennebaud and others"),
        ("flatbuffers", "Apache-2.0", "2014 Google Inc."),
        ("gsl", "MIT", "2015 Microsoft Corporation"),
        ("json", "MIT", "2013-2019 Niels Lohmann"),
        ("kleidiai", "Apache-2.0", "2024-2026 Arm Limited and its affiliates"),
        ("mbedtls", "Apache-2.0", "The Mbed TLS Contributors"),
        ("onnx", "Apache-2.0", "ONNX Project Contributors"),
        ("protobuf", "BSD-3-Clause", "2008 Google Inc."),
        ("pybind11", "BSD-3-Clause", "2016 Wenzel Jakob <wenzel.jakob@epfl.ch>"),
        ("re2", "BSD-3-Clause", "2009 The RE2 Authors"),
        ("safeint", "MIT", "2018 Microsoft"),
        ("sqlite", "blessing", "nobody: its authors disclaim copyright"),
        ("zlib", "Zlib", "1995-2017 Jean-loup Gailly and Mark Adler"),
    )
)

KNOWN = {
    "aioquic": Known("", "its wheel: symbols of OpenSSL in _crypto", parts=(_OPENSSL,)),
    "argon2-cffi-bindings": Known(
        "",
        "its wheel: the functions of argon2 in _ffi",
        parts=(
            Part(
                "argon2",
                "Apache-2.0",
                "2015 Daniel Dinu, Dmitry Khovratovich, Jean-Philippe Aumasson, and "
                "Samuel Neves",
                "LICENSE of the reference implementation of Argon2",
            ),
        ),
    ),
    "bcrypt": Known("", "its wheel: the names of files in _bcrypt", parts=(_PYO3,)),
    "click-default-group": Known(
        "BSD-3-Clause",
        "its LICENSE, three clauses; the classifier `Public Domain` is a mistake",
    ),
    "cffi": Known(
        "",
        "its wheel: symbols of libffi in _cffi_backend",
        parts=(
            Part(
                "libffi",
                "MIT",
                "1996-2024 Anthony Green, Red Hat, Inc and others",
                "LICENSE of libffi",
            ),
        ),
    ),
    "cryptography": Known(
        "Apache-2.0 OR BSD-3-Clause",
        "its LICENSE; its wheel: OpenSSL's version and the names of files in _rust",
        parts=(_OPENSSL, _PYO3),
    ),
    "flask": Known("BSD-3-Clause", "its LICENSE.txt, three clauses"),
    "google-re2": Known(
        "BSD-3-Clause",
        "its LICENSE, three clauses; its wheel: symbols of absl and pybind11 in _re2",
        parts=(
            Part(
                "abseil-cpp",
                "Apache-2.0",
                "2017 The Abseil Authors",
                "LICENSE and file headers of Abseil",
            ),
            Part(
                "pybind11",
                "BSD-3-Clause",
                "2016 Wenzel Jakob <wenzel.jakob@epfl.ch>",
                "LICENSE of pybind11",
            ),
        ),
    ),
    "itsdangerous": Known("BSD-3-Clause", "its LICENSE.txt, three clauses"),
    "jinja2": Known("BSD-3-Clause", "its LICENSE.txt, three clauses"),
    "ldap3": Known(
        "LGPL-3.0-or-later",
        "its LICENSE.txt, which says `or any later version`",
        ("2013-2020 Giovanni Cannata",),
    ),
    "mitmproxy-linux": Known("MIT", "its LICENSE"),
    "mitmproxy-rs": Known(
        "MIT",
        "the LICENSE of its later releases; wheels of before have none",
        ("2022, Fabio Valentini and Maximilian Hils",),
        (
            _PYO3,
            Part(
                "curve25519-dalek",
                "BSD-3-Clause",
                "2016-2021 isis agora lovecruft, 2016-2021 Henry de Valence",
                "LICENSE of curve25519-dalek",
            ),
            Part(
                "hickory-dns",
                "MIT",
                "2015 The Hickory DNS Developers",
                "LICENSE-MIT of Hickory DNS",
            ),
            Part("tokio", "MIT", "Tokio Contributors", "LICENSE of Tokio"),
        ),
    ),
    "onnxruntime": Known(
        "MIT",
        "the LICENSE in its package, where no metadata has it",
        ("Microsoft Corporation",),
        _IN_ONNXRUNTIME,
    ),
    "passlib": Known(
        "BSD-3-Clause AND Beerware AND ISC AND CC-BY-3.0",
        "its LICENSE: its own, and those of what it has incorporated",
    ),
    "pyasn1-modules": Known("BSD-2-Clause", "its LICENSE.txt, two clauses"),
    "pylsqpack": Known(
        "",
        "its wheel: symbols of ls-qpack in _binding",
        parts=(
            Part(
                "ls-qpack",
                "MIT",
                "2018-2024 LiteSpeed Technologies Inc",
                "LICENSE of ls-qpack",
            ),
        ),
    ),
    "pyperclip": Known("BSD-3-Clause", "its LICENSE.txt, three clauses"),
    "ruamel-yaml-clib": Known(
        "",
        "its wheel: the functions of libyaml in _ruamel_yaml",
        parts=(
            Part(
                "libyaml",
                "MIT",
                "2006-2016 Kirill Simonov, 2017-2020 Ingy döt Net",
                "License of libyaml",
            ),
        ),
    ),
    "typing-extensions": Known(
        "PSF-2.0",
        "its LICENSE: the holders stand in section B within a sentence",
        (
            "2001-2023 Python Software Foundation",
            "1991-1995 Stichting Mathematisch Centrum Amsterdam",
        ),
    ),
    "zstandard": Known(
        "BSD-3-Clause",
        "its LICENSE, three clauses; its wheel: symbols of zstd in backend_c",
        parts=(
            Part(
                "zstd",
                "BSD-3-Clause",
                "Meta Platforms, Inc. and affiliates",
                "LICENSE of Zstandard",
            ),
        ),
    ),
}
"""Distributions whose metadata names no licence, or a wrong one."""

_IDENTIFIERS = (
    *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-0"),
    *("MPL-2.0", "PSF-2.0", "Unlicense", "ZPL-2.1"),
)
_SPELLINGS = {
    **{each.lower(): each for each in _IDENTIFIERS},
    "apache 2.0": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "isc license (iscl)": "ISC",
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "python software foundation license": "PSF-2.0",
    "the unlicense (unlicense)": "Unlicense",
    "zpl 2.1": "ZPL-2.1",
}
"""What authors write for one licence; `BSD License` is none, as there are several."""

_PHRASES = {
    "LGPL-3.0-or-later": ("gnu lesser general public license", "version 3"),
    "Apache-2.0": ("apache license", "version 2.0"),
    "MPL-2.0": ("mozilla public license", "2.0"),
    "ZPL-2.1": ("zope public license", "version 2.1"),
    "PSF-2.0": ("python software foundation license version 2",),
    "Unlicense": ("released into the public domain", "unlicense"),
    "BSD-3-Clause": (
        "redistribution and use in source and binary forms",
        "endorse or promote products",
    ),
    "BSD-2-Clause": ("redistribution and use in source and binary forms",),
    "MIT": (
        "permission is hereby granted, free of charge, to any person obtaining a copy",
        "shall be included in all",
    ),
    "MIT-0": (
        "permission is hereby granted, free of charge, to any person obtaining a copy",
    ),
    "ISC": (
        "permission to use, copy, modify, and/or distribute",
        "appear in all copies",
    ),
    "0BSD": ("permission to use, copy, modify, and/or distribute",),
    "Zlib": ("origin of this software must not be misrepresented", "altered source"),
    "blessing": ("may you do good and not evil",),
    "curl": (
        "permission to use, copy, modify, and distribute this software for any purpose",
        "the name of a copyright holder shall not be used in advertising",
    ),
}
"""What the text of each licence says."""

_WIDER = {
    "BSD-3-Clause": {"BSD-2-Clause"},
    "ISC": {"0BSD"},
    "MIT": {"MIT-0"},
    # The terms of its forerunners stand in the text, too.
    "PSF-2.0": {"0BSD", "ISC"},
    "ZPL-2.1": {"BSD-2-Clause", "BSD-3-Clause"},
}
"""Licences whose phrases are in the text of another that says more."""


def compiled_in(distribution: Installed) -> tuple[Part, ...]:
    """What is known to be compiled into a distribution."""
    known = KNOWN.get(distribution.name)
    return known.parts if known else ()


_NAMES = re.compile(r"(licen[cs]e|copying|copyright|notice)", re.IGNORECASE)
_NEVER = re.compile(r"(^sboms$|\.py$|\.json$)")


def licence(distribution: Installed) -> str:
    """The SPDX expression of a distribution's licence; LicenceError when none tells."""
    claimed = _claimed(distribution)
    told = {
        each
        for path in licence_files(distribution)
        for each in identify(path.read_text("utf-8", errors="replace"))
    }
    if claimed is None:
        raise LicenceError(
            f"{distribution.title} {distribution.version}: its metadata tells no "
            "licence: read its licence file and add it to KNOWN in "
            "packaging/licences.py"
        )
    if told and not told & set(re.findall(r"[\w.-]+", claimed)):
        raise LicenceError(
            f"{distribution.title} {distribution.version}: its metadata says "
            f"{claimed}, its licence file {', '.join(sorted(told))}: read it and add "
            "what is true to KNOWN in packaging/licences.py"
        )
    return claimed


def _claimed(distribution: Installed) -> str | None:
    metadata = distribution.metadata
    known = KNOWN.get(distribution.name)
    if known and known.expression:
        return known.expression
    if metadata.get("License-Expression"):
        return " ".join(str(metadata.get("License-Expression")).split())
    classifiers = [
        each.rpartition(" :: ")[2]
        for each in metadata.get_all("Classifier") or ()
        if each.startswith("License :: ")
    ]
    for candidates in ([metadata.get("License") or ""], classifiers):
        named = {_SPELLINGS.get(each.strip().lower()) for each in candidates}
        if len(named) == 1:
            (one,) = named
            if one is not None:
                return one
    return None


def identify(text: str) -> frozenset[str]:
    """The identifiers of the licences that a text holds, as far as they are known."""
    # Comment signs and line ends must not part the words of a phrase.
    plain = re.sub(r"^\s*[*#]+", " ", text, flags=re.MULTILINE)
    words = " ".join(plain.lower().split())
    found = {
        identifier
        for identifier, phrases in _PHRASES.items()
        if all(phrase in words for phrase in phrases)
    }
    return frozenset(found.difference(*(_WIDER.get(each, ()) for each in found)))


def licence_files(distribution: Installed) -> Iterator[Path]:
    """The licence files in a .dist-info, those of what it bundles last."""
    directory = distribution.directory
    found = [
        path
        for path in directory.rglob("*")
        if path.is_file() and _is_licence(path.relative_to(directory))
    ]
    yield from sorted(found, key=lambda path: (len(path.parts), path.as_posix()))


def _is_licence(path: Path) -> bool:
    if any(_NEVER.search(part) for part in path.parts):
        return False
    return bool(_NAMES.search(path.name))
