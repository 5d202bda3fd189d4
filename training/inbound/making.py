"""Makes a transformer of what is learned from.

    PYTHONPATH=training python -m inbound.making SOURCES FOLDER

SOURCES is what `inbound.published` has copied, FOLDER where the model will be. It takes
an hour and a half on two processors. `--weights` keeps the model as PyTorch has it.

After each round the model is asked about many texts that are ordinary; those that it is
least sure of are among what it learns from in the next one.
"""

import argparse
import random
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from inbound.corpus import Example, Part, corpus
from inbound.encoder import learn, start
from inbound.export import export
from inbound.passages import Passage, excerpts, passages
from inbound.published import documents, orders
from redlane_match_ml.loading import load_model

__all__ = ["main"]

_VERSION = "1"
_SEED = 1
_RATES = (6e-5, 5e-5, 3e-5)
"""How fast is learned in each round."""
_LEARNED = 2
_LOOKED_AT = 12
"""So many pieces of each document are learned from, and looked at for what is hard."""
_HARD = 12_000
_THREADS = 2


def main(words: Sequence[str]) -> int:
    """Make the model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--weights", type=Path)
    given = parser.parse_args(words)
    examples = corpus()
    pages = [text for _, text in documents(given.sources)]
    learned = passages(examples, orders(given.sources), pages)
    learned += excerpts(pages, _LEARNED, random.Random(_SEED))
    _say(f"{len(learned)} passages, {sum(p.is_order for p in learned)} with orders")

    model = start(_SEED)
    hard: list[Passage] = []
    for seed, rate in enumerate(_RATES, _SEED):
        learn(model, [*learned, *hard], rate=rate, seed=seed)
        export(model, given.folder, _VERSION)
        if given.weights:
            model.save_pretrained(given.weights)
        if rate != _RATES[-1]:
            hard += _hard(given.folder, _ordinary(examples, pages, seed))
    return 0


def _ordinary(
    examples: Iterable[Example], pages: Sequence[str], seed: int
) -> list[Passage]:
    texts = [
        Passage(each.text, is_order=False, family=each.family)
        for each in examples
        if each.part is Part.LEARN and not each.is_order
    ]
    return texts + list(excerpts(pages, _LOOKED_AT, random.Random(seed)))


def _hard(folder: Path, ordinary: Sequence[Passage]) -> list[Passage]:
    """Of what is ordinary that which a model is least sure of."""
    model = load_model(folder, 1)

    def score(passage: Passage) -> float:
        return model.score(passage.text, 2, lambda: 1.0).score

    with ThreadPoolExecutor(_THREADS) as pool:
        scores = list(pool.map(score, ordinary, chunksize=64))
    worst = sorted(range(len(scores)), key=scores.__getitem__, reverse=True)[:_HARD]
    _say(f"{len(scores)} looked at; {_HARD} are above {scores[worst[-1]]:.4f}")
    return [ordinary[each] for each in worst]


def _say(message: str) -> None:
    sys.stderr.write(f"{message}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
