"""Makes the small model: what each n-gram counts; a window's score is the sum of them.

    PYTHONPATH=training python -m inbound.table SOURCES FOLDER

SOURCES is what `inbound.published` has copied, FOLDER where the model will be. It takes
some minutes.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from inbound.corpus import BY_PLACE, corpus
from inbound.folder import describe
from inbound.graph import graph
from inbound.passages import Passage, passages
from inbound.published import documents, orders
from redlane_match_ml.manifest import NGRAMS
from redlane_match_ml.ngrams import Block, blocks

__all__ = ["STRIDE", "WINDOW", "main"]

WINDOW, STRIDE = 64, 32
"""So many tokens are scored at a time, and so many further on the next time."""
_ROWS = 990_000
"""The model has so many bytes, and a few more."""
_SEED = 1
_TIMES = 4
_BATCH = 256
_RATE = 0.03
_LEFT_OUT = 0.3
"""Of a window's n-grams so many are not seen, on the average: none is relied on."""
_DOUBT = 0.02
"""So far a window is from being surely what it is."""
_MOST = 127
_SEEN = 0.6
"""A window holds an order if so much of the one is the other."""

Numbers = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Table:
    """What each n-gram counts, and what a window counts beforehand."""

    rows: torch.Tensor
    bias: torch.Tensor


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows by their n-grams, one after another, and whether they hold an order."""

    rows: torch.Tensor
    bounds: torch.Tensor
    labels: torch.Tensor

    def some(self, chosen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The n-grams of some windows, and how many each of them has."""
        counts = self.bounds[chosen + 1] - self.bounds[chosen]
        ends = counts.cumsum(0)
        places = torch.arange(int(ends[-1])) + torch.repeat_interleave(
            self.bounds[chosen] - ends + counts, counts
        )
        return self.rows[places].long(), counts


def windows(found: Sequence[Passage]) -> Windows:
    """All windows of some passages, without those that hold half an order."""
    rows: list[Numbers] = []
    counts: list[int] = []
    labels: list[float] = []
    for passage in found:
        for block in blocks(passage.text, WINDOW, STRIDE):
            for place, label in _labelled(passage, block):
                piece = block.hashes[block.bounds[place] : block.bounds[place + 1]]
                rows.append((piece % _ROWS).astype(np.int32))
                counts.append(len(piece))
                labels.append(label)
    return Windows(
        torch.from_numpy(np.concatenate(rows)),
        torch.tensor([0, *counts]).cumsum(0),
        torch.tensor(labels),
    )


def _labelled(passage: Passage, block: Block) -> Iterator[tuple[int, float]]:
    begins = passage.text.find(passage.order) if passage.order else 0
    ends = begins + len(passage.order or passage.text)
    for place, (start, end) in enumerate(block.places):
        if not passage.is_order:
            yield place, 0.0
            continue
        shared = min(end, ends) - max(start, begins)
        if shared >= _SEEN * min(end - start, ends - begins):
            yield place, 1.0
        elif shared <= 0:
            yield place, 0.0


def learn(seen: Windows, times: int = _TIMES) -> Table:
    """Go through all windows some times; how fast is learned falls to nothing."""
    dice = torch.Generator().manual_seed(_SEED)
    table = torch.zeros(_ROWS, requires_grad=True)
    bias = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.Adam([table, bias], lr=_RATE)
    steps = times * -(-len(seen.labels) // _BATCH)
    step = 0
    for _ in range(times):
        for chosen in torch.randperm(len(seen.labels), generator=dice).split(_BATCH):
            for group in optimizer.param_groups:
                group["lr"] = _RATE * (1 - step / steps)
            some = _thinned(*seen.some(chosen), dice)
            wanted = seen.labels[chosen] * (1 - 2 * _DOUBT) + _DOUBT
            loss = binary_cross_entropy_with_logits(
                _logits(Table(table, bias), *some), wanted
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if not step % 500:
                sys.stderr.write(f"step {step} of {steps}: loss {loss.item():.4f}\n")
    return Table(table.detach(), bias.detach())


def _thinned(
    rows: torch.Tensor, counts: torch.Tensor, dice: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """Windows without a part of their n-grams, which is another one for each."""
    dropped = 2 * _LEFT_OUT * torch.rand(len(counts), generator=dice)
    windows = torch.repeat_interleave(torch.arange(len(counts)), counts)
    kept = torch.rand(len(rows), generator=dice) >= dropped[windows]
    return rows[kept], torch.bincount(windows[kept], minlength=len(counts))


def _logits(table: Table, rows: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    windows = torch.repeat_interleave(torch.arange(len(counts)), counts)
    sums = torch.zeros(len(counts)).index_add(0, windows, table.rows[rows])
    return sums / counts.clamp(min=1).sqrt() + table.bias


def graph_of(table: Table) -> bytes:
    """The table as it ships: a byte a number."""
    scale = float(table.rows.abs().max()) / _MOST
    rows = (table.rows / scale).round().to(torch.int8).numpy()
    return graph(rows, scale, float(table.bias))


def main(words: Sequence[str]) -> int:
    """Make the model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", type=Path)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args(words)
    pages = [text for _, text in documents(given.sources)]
    # No sum of what stands in a window tells where it stands.
    examples = [each for each in corpus() if each.family not in BY_PLACE]
    learned = passages(examples, orders(given.sources), pages)
    learned += [Passage(each, is_order=False, family="document") for each in pages]
    table = learn(windows(learned))
    given.folder.mkdir(parents=True, exist_ok=True)
    (given.folder / "model.onnx").write_bytes(graph_of(table))
    describe(given.folder, NGRAMS, WINDOW, STRIDE)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
