"""What the proxy asks about becomes content, and nothing more is read into it."""

import pytest

from redlane.contexts.inbound.content import InboundContent
from redlane.contexts.network.content import NetworkContent
from redlane.contexts.traffic import traffic_content
from redlane.errors import ContentError
from redlane.model.content import Reader
from redlane.model.policy import Action, Context

DATA = b"POST http://a/ HTTP/1.1\n\nc2VjcmV0LXdvcmRzLWFyZS1oZXJl"


@pytest.mark.parametrize(
    ("context", "kind"),
    [(Context.NETWORK, NetworkContent), (Context.INBOUND, InboundContent)],
)
def test_texts_are_those_that_were_found(
    context: Context, kind: type[NetworkContent | InboundContent]
) -> None:
    content = traffic_content(context, DATA, [b"found"])

    assert isinstance(content, kind)
    assert content.problem is None
    assert content.views(Action.BLOCK, Reader.PATTERN) == (DATA, b"found")
    alone = traffic_content(context, DATA, [])
    assert alone.views(Action.BLOCK, Reader.PATTERN) == (DATA,)


def test_a_request_with_more_in_it_says_so() -> None:
    content = traffic_content(Context.NETWORK, DATA, [b"found"], "there is more")
    assert content.problem == "there is more"
    assert content.views(Action.BLOCK, Reader.PATTERN) == (DATA, b"found")


def test_other_contexts_are_not_the_proxys() -> None:
    with pytest.raises(ContentError):
        traffic_content(Context.SHELL, DATA, [])
