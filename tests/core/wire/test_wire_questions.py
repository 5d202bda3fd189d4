"""Questions and answers survive the way; what has another form is none."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from redlane.model.policy import Context
from redlane.model.verdict import Decision
from redlane.wire.answer import Answer, AnswerError, WhyUnjudged, read_answer
from redlane.wire.frames import HEAD_BYTES, Frame, unpack
from redlane.wire.question import (
    CalledTool,
    Listed,
    Origin,
    Question,
    QuestionError,
    QuestionKind,
    Recorded,
    Step,
    read_question,
)

texts = st.text(max_size=20)
blobs = st.lists(st.binary(max_size=20), max_size=5).map(tuple)
counts = st.integers(0, 5)
questions = st.builds(
    Question,
    st.sampled_from(QuestionKind),
    st.sampled_from(Context),
    blobs,
    st.lists(texts, max_size=20).map(tuple),
    texts,
    counts,
    st.lists(st.tuples(counts, counts), max_size=3).map(tuple),
    st.none() | st.builds(Origin, st.none() | texts, st.tuples(texts, counts), texts),
    st.none() | st.builds(CalledTool, texts, texts),
    request=texts,
)
extras = {
    QuestionKind.RECORD: ("recorded", Recorded(Decision.FLAG, "why")),
    QuestionKind.TOOLS: ("listed", Listed(Step.PIN, "s", ("a", "b"), is_last=True)),
}
answers = st.builds(
    Answer,
    st.sampled_from(Decision),
    texts,
    *[st.none() | texts] * 4,
    st.lists(st.binary(max_size=9), min_size=1, max_size=3).map(tuple),
    st.booleans(),
    st.none() | st.sampled_from(WhyUnjudged),
    st.lists(st.tuples(texts, texts), max_size=3).map(tuple),
    st.booleans(),
)
json = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)
    ),
)
fields = st.sampled_from(
    (
        *("kind", "context", "details", "problem", "values", "parts", "credential"),
        *("client", "connection", "server_key", "left_out", "verdict", "reason"),
        *("step", "server", "started", "is_last", "blobs", "request"),
    )
)


def sent(pieces: list[bytes]) -> Frame:
    data = b"".join(pieces)
    return unpack(data[:HEAD_BYTES], data[HEAD_BYTES:])


@settings(max_examples=examples(100))
@given(questions)
def test_a_question_survives_the_way(question: Question) -> None:
    name, extra = extras.get(question.kind, ("", None))
    if name:
        question = Question(question.kind, question.context, **{name: extra})  # type: ignore[arg-type]  # either
    frame = sent(question.pieces())
    found = read_question(frame.document)
    assert Question(**{**_fields(found), "blobs": frame.blobs}) == question


def _fields(question: Question) -> dict[str, Any]:
    return {name: getattr(question, name) for name in Question.__slots__}


@settings(max_examples=examples(300))
@given(
    st.dictionaries(fields, json, max_size=8),
    st.sampled_from(QuestionKind),
    st.sampled_from(Context),
)
def test_what_is_no_question_is_nothing_worse(
    document: dict[str, Any], kind: QuestionKind, context: Context
) -> None:
    for usual in ({}, {"kind": kind, "context": context}):
        try:
            read_question({**document, **usual})
        except QuestionError:
            continue


BROKEN: dict[str, dict[str, Any]] = {
    "nothing": {"kind": None, "context": None},
    "kind": {"kind": "allow"},
    "context": {"context": "Elsewhere"},
    "details": {"details": "text"},
    "detail": {"details": [1]},
    "values": {"values": -1},
    "no-number": {"values": True},
    "parts": {"parts": [[1]]},
    "client": {"credential": "a", "client": "127.0.0.1"},
    "credential": {"credential": 3, "client": ["a", 1], "connection": "c"},
    "decision": {"kind": "record", "verdict": "PERHAPS"},
    "no-decision": {"kind": "record"},
    "step": {"kind": "tools", "step": "x", "server": "s", "started": ["a"]},
    "server": {"kind": "tools", "step": "look", "server": "", "started": ["a"]},
    "started": {"kind": "tools", "step": "look", "server": "s", "started": []},
}


@pytest.mark.parametrize("fields", BROKEN.values(), ids=BROKEN)
def test_a_question_of_another_form_is_told_apart(fields: dict[str, Any]) -> None:
    with pytest.raises(QuestionError):
        read_question({"kind": "judge", "context": "Network", **fields})


SHORT: dict[str, tuple[dict[str, Any], int]] = {
    "no-content": ({}, 0),
    "fewer-than-values": ({"context": "Inbound", "values": 3}, 2),
    "fewer-than-parts": ({"kind": "parts", "parts": [[1, 1], [0, 2]]}, 3),
    "preview": ({"kind": "preview"}, 0),
}


@pytest.mark.parametrize(("fields", "count"), SHORT.values(), ids=SHORT)
def test_contents_that_are_missing_are_noticed(
    fields: dict[str, Any], count: int
) -> None:
    question = read_question({"kind": "judge", "context": "Network", **fields})
    with pytest.raises(QuestionError):
        question.with_blobs([b""] * count)


@settings(max_examples=examples(100))
@given(answers)
def test_an_answer_survives_the_way(answer: Answer) -> None:
    found = read_answer(sent(answer.pieces()))
    kept = answer.contents if answer.decision is Decision.MODIFY else ()
    assert {**_answer(found), "contents": kept} == {**_answer(answer), "contents": kept}
    assert found.contents == kept


def _answer(answer: Answer) -> dict[str, Any]:
    return {name: getattr(answer, name) for name in Answer.__slots__}


@settings(max_examples=examples(200))
@given(st.dictionaries(st.sampled_from((*Answer.__slots__, "verdict")), json))
def test_what_is_no_answer_is_an_error(document: dict[str, Any]) -> None:
    try:
        read_answer(Frame({"verdict": "ALLOW", "reason": "", **document}))
    except AnswerError:
        return
