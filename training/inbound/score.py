"""How well a model tells orders from what is ordinary, on texts that it has not seen.

    PYTHONPATH=training python -m inbound.score SOURCES FOLDER [DOCUMENT…]

FOLDER is the model's, SOURCES what `inbound.published` has copied. Each document (below
/usr/share/doc and /usr/share/man unless told) is what a page is, and as much of it is
scored as of a response. Thresholds are those that a share of them reaches, and those of
`--at`. The sets of other people are read for this alone, without what is nearly a text
that was learned from; `--own` leaves them out.
"""

import argparse
import gzip
import json
import random
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from inbound.corpus import Part, corpus
from inbound.near import Seen
from inbound.published import of_tests, orders
from redlane.api import Context
from redlane.contexts.parse import parse_contents
from redlane_match_ml.loading import load_model

__all__ = ["main"]

Sets = Iterator[tuple[str, list[str]]]
"""Texts, and what they are."""
Score = Callable[[Iterable[str]], list[float]]

_PAGES = (Path("/usr/share/doc"), Path("/usr/share/man"))
_SHARES = (0.01, 0.005, 0.001)
_MOST_CHARACTERS = 21_000
_MOST_BYTES = 200_000
_NAMED = 20
_THREADS = 2

_CSE, _CSE_FILE = (
    "meta-llama/PurpleLlama",
    "CybersecurityBenchmarks/datasets/prompt_injection/prompt_injection.json",
)
_BIPIA = "microsoft/BIPIA"
_PIGUARD = "leolee99/PIGuard"


def main(words: Sequence[str]) -> int:
    """Print which share of each set reaches the thresholds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("document", nargs="*", type=Path)
    parser.add_argument("--most", type=int, default=5_000, help="so many documents")
    parser.add_argument("--at", type=float, action="append", default=[])
    parser.add_argument("--own", action="store_true", help="no sets of other people")
    given = parser.parse_args(words)
    score = _scorer(given.folder)
    pages = dict(_documents(given.document or _PAGES, given.most))
    of_pages = score(pages.values())
    highest = sorted(zip(of_pages, pages, strict=True), reverse=True)
    for each, path in highest[:_NAMED]:
        _say(f"{each:.4f} {path}")
    thresholds = [highest[int(share * len(highest))][0] for share in _SHARES]
    thresholds += given.at
    named = [f"{share:.1%}" for share in _SHARES] + ["as told"] * len(given.at)
    _row("of the documents are taken for orders", named)
    _row("with the threshold", [f"{each:.4f}" for each in thresholds])
    sets = [*_own(), *(() if given.own else _of_others(given.sources))]
    for name, scores in [
        (f"{len(pages)} documents", of_pages),
        *((f"{name} ({len(texts)})", score(texts)) for name, texts in sets),
    ]:
        shares = [sum(s >= at for s in scores) / len(scores) for at in thresholds]
        _row(name, [f"{each:.1%}" for each in shares])
    return 0


def _scorer(folder: Path) -> Score:
    model = load_model(folder, 1)
    pool = ThreadPoolExecutor(_THREADS)

    def score(text: str) -> float:
        return model.score(text, 2, lambda: 1.0).score

    return lambda texts: list(pool.map(score, texts))


def _documents(places: Sequence[Path], most: int) -> Iterator[tuple[str, str]]:
    """The texts below some places, as far as a response is scored."""
    paths = [each for place in places for each in sorted(place.rglob("*"))]
    random.Random(0).shuffle(paths)
    found = 0
    for path in paths:
        if found == most:
            return
        if path.is_file() and (data := _beginning(path)):
            found += 1
            (content,) = parse_contents(Context.INBOUND, data)
            seen = content.extracted if content.extracted is not None else (data,)
            text = "\n".join(each.decode(errors="replace") for each in seen)
            yield str(path), text[:_MOST_CHARACTERS]


def _beginning(path: Path) -> bytes:
    """The beginning of a text, unpacked; nothing for what is none."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            data = file.read(_MOST_BYTES)
    except (OSError, EOFError):
        return b""
    return b"" if b"\0" in data else data


def _own() -> Sets:
    """Texts of sentences that were kept back."""
    families: dict[str, list[str]] = defaultdict(list)
    for each in corpus():
        if each.part is Part.TRY:
            kind = "orders" if each.is_order else "ordinary"
            families[f"own {kind}: {each.family}"].append(each.text)
            families[f"own {kind}"].append(each.text)
    yield from sorted(families.items())


def _of_others(sources: Path) -> Sets:
    own = (each.order for each in corpus() if each.part is Part.LEARN)
    learned = Seen([*own, *orders(sources)])

    def unseen(texts: Iterable[str]) -> list[str]:
        return [each for each in texts if not learned.has_near(each)]

    tests = _json(sources, _CSE, _CSE_FILE)
    for kind in ("direct", "indirect"):
        texts = (
            each["user_input"]
            for each in tests
            if (each["injection_type"], each["speaking_language"]) == (kind, "English")
        )
        yield f"CyberSecEval {kind}, English", unseen(texts)
    contexts = [
        _context(line)
        for kind in ("email", "table")
        for line in of_tests(sources, _BIPIA, f"benchmark/{kind}/test.jsonl").split(
            "\n"
        )
        if line
    ]
    for kind in ("text", "code"):
        listed = _json(sources, _BIPIA, f"benchmark/{kind}_attack_test.json")
        attacks = unseen(each for group in listed.values() for each in group)
        yield f"BIPIA {kind}, alone", attacks
        yield f"BIPIA {kind}, in a mail or a table", _within(attacks, contexts)
    yield "BIPIA, mails and tables without", contexts
    names = ("one", "two", "three")
    files = [f"datasets/NotInject_{each}.json" for each in names]
    innocent = [each for file in files for each in _json(sources, _PIGUARD, file)]
    yield "NotInject", [each["prompt"] for each in innocent]
    wild = _json(sources, _PIGUARD, "datasets/wildguard.json")
    yield "WildGuard, benign", [each["prompt"] for each in wild]


def _within(attacks: Sequence[str], contexts: Sequence[str]) -> list[str]:
    """Each at the end of two documents, and at the beginning of two others."""
    dice = random.Random(0)
    return [
        f"{dice.choice(contexts)}\n{each}" for each in attacks for _ in range(2)
    ] + [f"{each}\n{dice.choice(contexts)}" for each in attacks for _ in range(2)]


def _context(line: str) -> str:
    found = json.loads(line)["context"]
    return found if isinstance(found, str) else "\n".join(found)


def _json(sources: Path, repository: str, path: str) -> Any:  # noqa: ANN401  # any JSON
    return json.loads(of_tests(sources, repository, path))


def _row(name: str, columns: Sequence[str]) -> None:
    _say(f"{name:<44}" + "".join(f"{each:>9}" for each in columns))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
