"""The graph of the small model, in ONNX: what n-grams weigh, summed for each window."""

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

__all__ = ["graph"]

_OPSET = 17
_IR_VERSION = 8

Numbers = np.ndarray[Any, np.dtype[Any]]


def graph(table: Numbers, scale: float, bias: float) -> bytes:
    """What gives a logit for each window of `redlane_match_ml.ngrams.Block`.

    An n-gram is the row of `table` (int8) that its hash leaves when divided by how
    many there are, times `scale`. The sum of a window's is divided by the root of how
    many it has: a long window is no more of an order than a short one.
    """
    node = helper.make_node
    nodes = [
        node("Mod", ["hashes", "size"], ["rows"]),
        node("Gather", ["table", "rows"], ["bytes"]),
        node("Cast", ["bytes"], ["weights"], to=TensorProto.INT32),
        node("Concat", ["nothing", "weights"], ["shifted"], axis=0),
        node("CumSum", ["shifted", "axis"], ["sums"]),
        node("Gather", ["sums", "bounds"], ["before"]),
        *_differences("before", "sum"),
        *_differences("bounds", "count"),
        node("Max", ["count", "one"], ["least"]),
        node("Sqrt", ["least"], ["root"]),
        node("Div", ["sum", "root"], ["mean"]),
        node("Mul", ["mean", "scale"], ["scaled"]),
        node("Add", ["scaled", "bias"], ["logits"]),
    ]
    constants: dict[str, Numbers] = {
        "table": table,
        "size": np.array([len(table)], np.int64),
        "nothing": np.zeros(1, np.int32),
        "axis": np.array(0, np.int64),
        "one": np.ones(1, np.float32),
        "scale": np.array([scale], np.float32),
        "bias": np.array([bias], np.float32),
        "first": np.array([0], np.int64),
        "second": np.array([1], np.int64),
        "last": np.array([-1], np.int64),
        "end": np.array([np.iinfo(np.int64).max], np.int64),
    }
    made = helper.make_model(
        helper.make_graph(
            nodes,
            "ngrams",
            [_vector(each, TensorProto.INT64) for each in ("hashes", "bounds")],
            [_vector("logits", TensorProto.FLOAT)],
            [numpy_helper.from_array(value, name) for name, value in constants.items()],
        ),
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=_IR_VERSION,
    )
    onnx.checker.check_model(made)
    return bytes(made.SerializeToString())


def _differences(of: str, name: str) -> list[onnx.NodeProto]:
    """Each number less the one before, as floating point."""
    node = helper.make_node
    return [
        node("Slice", [of, "second", "end"], [f"{name}_ends"]),
        node("Slice", [of, "first", "last"], [f"{name}_starts"]),
        node("Sub", [f"{name}_ends", f"{name}_starts"], [f"{name}_whole"]),
        node("Cast", [f"{name}_whole"], [name], to=TensorProto.FLOAT),
    ]


def _vector(name: str, kind: int) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, [None])
