"""Makes the large model: the small one, and a transformer for what that one doubts.

    PYTHONPATH=training python -m inbound.making SOURCES SMALL FOLDER

SOURCES is what `inbound.published` has copied, SMALL what `inbound.table` has made of
it, FOLDER where the model will be. It takes an hour and a half on two processors.

Of the documents the transformer learns from those windows that the small model is least
sure of: of others it is never asked.
"""

import argparse
import random
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from inbound.corpus import BY_PLACE, corpus
from inbound.encoder import STRIDE, WINDOW, learn, start
from inbound.export import export
from inbound.folder import describe
from inbound.passages import Passage, passages
from inbound.published import documents, orders
from inbound.table import STRIDE as SMALL_STRIDE
from inbound.table import WINDOW as SMALL_WINDOW
from redlane_match_ml.cascade import SCREEN
from redlane_match_ml.manifest import CASCADE, Screen, read_files, read_manifest
from redlane_match_ml.ngram_model import NgramModel

__all__ = ["main"]

_SEED = 1
_RATE = 6e-5
_ROUNDS = 2
"""So many times all is learned, each time in other places."""
_ORDERS, _ORDINARY = 22_000, 18_000
_HARD, _OTHERS = 20_000, 5_000
"""So many windows of documents that are hard, and that are not."""
_MORE = 60
"""Up to so many characters around each of them."""
_DOUBTFUL = 0.3
"""No policy need ask for so little, so that less is never worth the time."""


def main(words: Sequence[str]) -> int:
    """Make the model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", type=Path)
    parser.add_argument("small", type=Path)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args(words)
    dice = random.Random(_SEED)
    pages = [text for _, text in documents(given.sources)]
    doubted = _windows(pages, given.small, dice)
    examples = [each for each in corpus() if each.family not in BY_PLACE]
    learned: list[Passage] = []
    for seed in range(_ROUNDS):
        learned += _around(doubted, pages, dice)
        found = passages(examples, orders(given.sources), pages, str(seed))
        learned += [each for each in found if each.is_order][:_ORDERS]
        learned += [each for each in found if not each.is_order][:_ORDINARY]
    model = start(_SEED)
    learn(model, learned, rate=_RATE, seed=_SEED)
    export(model, given.folder)
    shutil.copyfile(given.small / "model.onnx", given.folder / SCREEN)
    screen = Screen(SMALL_WINDOW, SMALL_STRIDE, _DOUBTFUL)
    describe(given.folder, CASCADE, WINDOW, STRIDE, screen)
    return 0


def _windows(
    pages: Sequence[str], small: Path, dice: random.Random
) -> list[tuple[int, int, int]]:
    """Those windows of documents that are most like orders, and some others.

    Each is the page, where it begins there, and where it ends.
    """
    manifest = read_manifest(small)
    model = NgramModel(manifest, read_files(small, manifest), 1)
    scored = sorted(
        (
            (window.score, (page, window.start, window.end))
            for page, text in enumerate(pages)
            for block in model.windows(text)
            for window in block
        ),
        reverse=True,
    )
    chosen = scored[:_HARD] + dice.sample(scored[_HARD:], _OTHERS)
    return [window for _, window in chosen]


def _around(
    windows: Sequence[tuple[int, int, int]], pages: Sequence[str], dice: random.Random
) -> Iterator[Passage]:
    """Windows with some of what stands before and behind."""
    for page, first, last in windows:
        begins = max(0, first - dice.randrange(_MORE))
        text = pages[page][begins : last + dice.randrange(_MORE)]
        yield Passage(text, is_order=False, family="document")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
