"""A transformer as it ships: a graph that computes with bytes, and a tokenizer."""

import shutil
from pathlib import Path

import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from transformers import PreTrainedModel

from inbound.encoder import beginning

__all__ = ["export"]

_GRAPH, _TOKENIZER = "model.onnx", "tokenizer.json"
_OPSET = 17
_INPUTS = ("input_ids", "attention_mask")


def export(model: PreTrainedModel, folder: Path) -> None:
    """Write a model's graph, in bytes, and its tokenizer into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    whole = folder / "whole.onnx"
    _write_graph(model, whole)
    quantize_dynamic(
        whole, folder / _GRAPH, per_channel=True, weight_type=QuantType.QInt8
    )
    whole.unlink()
    shutil.copyfile(beginning() / _TOKENIZER, folder / _TOKENIZER)


class _Logits(torch.nn.Module):  # type: ignore[misc]  # torch is there to train only
    """A model that gives its logits and nothing else."""

    def __init__(self, model: PreTrainedModel) -> None:
        super().__init__()
        self._model = model

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self._model(input_ids=ids, attention_mask=mask).logits
        return logits


def _write_graph(model: PreTrainedModel, place: Path) -> None:
    model.eval()
    ids = torch.ones(1, 16, dtype=torch.long)
    axes = {name: {0: "texts", 1: "tokens"} for name in _INPUTS}
    torch.onnx.export(
        _Logits(model),
        (ids, torch.ones_like(ids)),
        str(place),
        input_names=list(_INPUTS),
        output_names=["logits"],
        dynamic_axes=axes,
        opset_version=_OPSET,
        dynamo=False,
    )
