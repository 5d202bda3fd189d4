"""The four ways in which agents speak to a model, as far as a scripted one needs them.

Each API says which of its requests are a turn of the agent, what the tools have said
in it, and how a turn is answered.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

__all__ = ["Answer", "Api", "Call", "Step", "api_at"]

MODEL = "scripted"
JSON = "application/json"
EVENTS = "text/event-stream"


@dataclass(frozen=True)
class Call:
    """A tool that the model calls; a `str` in place of arguments is free-form input."""

    tool: str
    arguments: dict[str, Any] | str = field(default_factory=dict)

    @property
    def text(self) -> str:
        given = self.arguments
        return given if isinstance(given, str) else json.dumps(given)


Step = Call | str
"""What the model says in one turn: a call, or plain text."""


@dataclass(frozen=True)
class Answer:
    """The body of an answer, and what it is."""

    kind: str
    body: bytes


class Api(Protocol):
    """One way to speak to a model."""

    def tools(self, body: Any) -> list[str]:
        """The names of the tools that a request offers."""

    def results(self, body: Any) -> str:
        """What came since the model spoke last: results of tools, or text."""

    def answer(self, body: Any, step: Step, number: int, *, streamed: bool) -> Answer:
        """An answer that says one step, the `number`th of the conversation."""


def api_at(path: str) -> tuple[Api, bool] | None:
    """The API that speaks at a path, and whether the path asks for a stream."""
    path, _, query = path.partition("?")
    if path.endswith("/messages"):
        return Messages(), False
    if path.endswith("/responses"):
        return Responses(), False
    if path.endswith("/chat/completions"):
        return Chat(), False
    if path.endswith(":generateContent"):
        return Gemini(), False
    if path.endswith(":streamGenerateContent"):
        return Gemini(), "alt=sse" in query
    return None


class Messages:
    """Anthropic's API; its answers are streams where a request says so."""

    def tools(self, body: Any) -> list[str]:
        return [each["name"] for each in body.get("tools") or []]

    def results(self, body: Any) -> str:
        return _texts(_since(body["messages"], lambda each: each["role"]))

    def answer(self, body: Any, step: Step, number: int, *, streamed: bool) -> Answer:
        message = {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model", MODEL),
            "content": [self._block(step, number)],
            "stop_reason": "tool_use" if isinstance(step, Call) else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
        if not (streamed or body.get("stream")):
            return Answer(JSON, json.dumps(message).encode())
        return _stream(self._events(message, step), named=True)

    def _block(self, step: Step, number: int) -> dict[str, Any]:
        if isinstance(step, str):
            return {"type": "text", "text": step}
        ident = f"toolu_{number}"
        what = {"type": "tool_use", "id": ident, "name": step.tool}
        return {**what, "input": step.arguments}

    def _events(self, message: dict[str, Any], step: Step) -> Iterator[dict[str, Any]]:
        (block,) = message["content"]
        if isinstance(step, str):
            empty = {**block, "text": ""}
            delta = {"type": "text_delta", "text": step}
        else:
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": step.text}
        begun = {**message, "content": [], "stop_reason": None}
        ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        yield {"type": "message_start", "message": begun}
        yield {"type": "content_block_start", "index": 0, "content_block": empty}
        yield {"type": "content_block_delta", "index": 0, "delta": delta}
        yield {"type": "content_block_stop", "index": 0}
        yield {"type": "message_delta", "delta": ended, "usage": message["usage"]}
        yield {"type": "message_stop"}


class Responses:
    """OpenAI's newer API, as Codex speaks it: always a stream."""

    def tools(self, body: Any) -> list[str]:
        listed = body.get("tools") or []
        return [each.get("name") or each["type"] for each in listed]

    def results(self, body: Any) -> str:
        return _texts(_since(body["input"], self._speaker))

    @staticmethod
    def _speaker(item: Any) -> str:
        kind = item.get("type", "")
        is_models = kind.endswith("_call") or kind == "reasoning"
        return "assistant" if is_models else str(item.get("role"))

    def answer(self, body: Any, step: Step, number: int, *, streamed: bool) -> Answer:
        ident = f"resp_{number}"
        item = self._item(step, number)
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        response = {"id": ident, "object": "response", "model": body.get("model")}
        done = {**response, "status": "completed", "output": [item], "usage": usage}
        if not (streamed or body.get("stream")):
            return Answer(JSON, json.dumps(done).encode())
        events: list[dict[str, Any]] = [
            {"type": "response.created", "response": {**response, "output": []}},
            {"type": "response.output_item.added", "output_index": 0, "item": item},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": done},
        ]
        return _stream(events, named=True)

    def _item(self, step: Step, number: int) -> dict[str, Any]:
        if isinstance(step, str):
            said = {"type": "output_text", "text": step, "annotations": []}
            what = {"type": "message", "role": "assistant", "id": f"msg_{number}"}
            return {**what, "status": "completed", "content": [said]}
        what = {"call_id": f"call_{number}", "name": step.tool, "status": "completed"}
        if isinstance(step.arguments, str):
            item = {"type": "custom_tool_call", "id": f"ctc_{number}"}
            return {**item, **what, "input": step.text}
        item = {"type": "function_call", "id": f"fc_{number}"}
        return {**item, **what, "arguments": step.text}


class Chat:
    """OpenAI's older API, which most others speak: streamed where asked for."""

    def tools(self, body: Any) -> list[str]:
        return [each["function"]["name"] for each in body.get("tools") or []]

    def results(self, body: Any) -> str:
        return _texts(_since(body["messages"], lambda each: each["role"]))

    def answer(self, body: Any, step: Step, number: int, *, streamed: bool) -> Answer:
        is_stream = bool(streamed or body.get("stream"))
        said: dict[str, Any] = {"role": "assistant", "content": step}
        if isinstance(step, Call):
            call = {"name": step.tool, "arguments": step.text}
            what = {"id": f"call_{number}", "type": "function", "function": call}
            index = {"index": 0} if is_stream else {}
            said = {"role": "assistant", "content": None, "tool_calls": [index | what]}
        reason = "tool_calls" if isinstance(step, Call) else "stop"
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        whole = {"id": f"chat-{number}", "created": 1, "model": body.get("model")}
        if not is_stream:
            choice = {"index": 0, "message": said, "finish_reason": reason}
            what = {**whole, "object": "chat.completion", "usage": usage}
            return Answer(JSON, json.dumps({**what, "choices": [choice]}).encode())
        chunk = {**whole, "object": "chat.completion.chunk"}
        first = {"index": 0, "delta": said, "finish_reason": None}
        last = {"index": 0, "delta": {}, "finish_reason": reason}
        chunks = [{**chunk, "choices": [each]} for each in (first, last)]
        told = _stream([*chunks, {**chunk, "choices": [], "usage": usage}])
        return Answer(EVENTS, told.body + b"data: [DONE]\n\n")


class Gemini:
    """Google's API; a stream is another path."""

    def tools(self, body: Any) -> list[str]:
        groups = [each.get("functionDeclarations") for each in body.get("tools") or []]
        return [each["name"] for group in groups for each in group or []]

    def results(self, body: Any) -> str:
        def speaker(item: Any) -> str:
            return "assistant" if item.get("role") == "model" else "user"

        return _texts(_since(body["contents"], speaker))

    def answer(self, body: Any, step: Step, number: int, *, streamed: bool) -> Answer:
        part: dict[str, Any]
        if isinstance(step, Call):
            what = {"id": f"call_{number}", "name": step.tool}
            part = {"functionCall": {**what, "args": step.arguments}}
        else:
            part = {"text": step}
        told = {
            "candidates": [
                {
                    "content": {"role": "model", "parts": [part]},
                    "finishReason": "STOP",
                    "index": 0,
                }
            ],
            "usageMetadata": {"promptTokenCount": 1, "totalTokenCount": 2},
            "modelVersion": body.get("model", MODEL),
        }
        return _stream([told]) if streamed else Answer(JSON, json.dumps(told).encode())


def _since(items: Any, speaker: Any) -> list[Any]:
    """The items after the last one that the model said."""
    if isinstance(items, str):
        return [items]
    own = [at for at, each in enumerate(items) if speaker(each) == "assistant"]
    return list(items[own[-1] + 1 :]) if own else []


def _texts(value: Any) -> str:
    """All strings of some JSON, one a line: what a model reads of it."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return "\n".join(filter(None, map(_texts, value)))
    return ""


def _stream(events: Any, *, named: bool = False) -> Answer:
    """Server-sent events, with names where the API has them."""
    listed: Sequence[dict[str, Any]] = list(events)
    lines = []
    for each in listed:
        name = f"event: {each['type']}\n" if named else ""
        lines.append(f"{name}data: {json.dumps(each)}\n\n")
    return Answer(EVENTS, "".join(lines).encode())
