"""What hub and core take of waitress's inside is what the locked release has.

Both override its methods and use attributes that it promises to nobody. A release that
changes one of them fails here by name, before anything odd happens at night.
"""

import inspect
from collections.abc import Iterator
from typing import Any

import pytest
from architecture.sources import refuse
from waitress import buffers, parser, receiver, server, task, trigger, utilities
from waitress import channel as channels
from waitress import wasyncore as loop

from redlane.control import channel as core_channel
from redlane.control import server as core_server
from redlane.control import worker_pools as core_pools
from redlane_hub.server import connections, requests, responses, web

CHANNEL = channels.HTTPChannel
PARSER = parser.HTTPRequestParser
SERVER = server.BaseWSGIServer
POOL = task.ThreadedTaskDispatcher

SIGNATURES = [
    (CHANNEL, "__init__", "(self, server, sock, addr, adj, map=None)"),
    (CHANNEL, "_flush_exception", "(self, flush, do_close=True)"),
    (CHANNEL, "_flush_some", "(self, do_close=True)"),
    (CHANNEL, "del_channel", "(self, map=None)"),
    (CHANNEL, "handle_close", "(self)"),
    (CHANNEL, "handle_error", "(self)"),
    (CHANNEL, "handle_write", "(self)"),
    (CHANNEL, "readable", "(self)"),
    (CHANNEL, "received", "(self, data)"),
    (CHANNEL, "send", "(self, data, do_close=True)"),
    (CHANNEL, "send_continue", "(self)"),
    (CHANNEL, "service", "(self)"),
    (CHANNEL, "writable", "(self)"),
    (
        SERVER,
        "__init__",
        (
            "(self, application, map=None, _start=True, _sock=None, dispatcher=None, "
            "adj=None, sockinfo=None, bind_socket=True, **kw)"
        ),
    ),
    (SERVER, "add_task", "(self, task)"),
    (SERVER, "del_channel", "(self, map=None)"),
    (SERVER, "handle_accept", "(self)"),
    (SERVER, "pull_trigger", "(self)"),
    (SERVER, "run", "(self)"),
    (server.TcpWSGIServer, "fix_addr", "(self, addr)"),
    (server.TcpWSGIServer, "set_socket_options", "(self, conn)"),
    (
        server.UnixWSGIServer,
        "__init__",
        (
            "(self, application, map=None, _start=True, _sock=None, dispatcher=None, "
            "adj=None, sockinfo=None, **kw)"
        ),
    ),
    (server.UnixWSGIServer, "fix_addr", "(self, addr)"),
    (server.UnixWSGIServer, "set_socket_options", "(self, conn)"),
    (trigger.trigger, "pull_trigger", "(self, thunk=None)"),
    (PARSER, "__init__", "(self, adj)"),
    (PARSER, "close", "(self)"),
    (PARSER, "get_body_stream", "(self)"),
    (PARSER, "parse_header", "(self, header_plus)"),
    (PARSER, "received", "(self, data)"),
    (parser, "unquote_bytes_to_wsgi", "(bytestring)"),
    (receiver.FixedStreamReceiver, "__init__", "(self, cl, buf)"),
    (buffers.OverflowableBuffer, "__init__", "(self, overflow)"),
    (buffers.OverflowableBuffer, "append", "(self, s)"),
    (buffers.OverflowableBuffer, "getfile", "(self)"),
    (task.Task, "build_response_header", "(self)"),
    (task.Task, "finish", "(self)"),
    (task.Task, "set_close_on_finish", "(self) -> None"),
    (task.Task, "write", "(self, data)"),
    (task.WSGITask, "execute", "(self)"),
    (task.WSGITask, "get_environment", "(self)"),
    (task.ErrorTask, "execute", "(self)"),
    (POOL, "__init__", "(self)"),
    (POOL, "add_task", "(self, task)"),
    (POOL, "set_thread_count", "(self, count)"),
    (POOL, "shutdown", "(self, cancel_pending=True, timeout=5)"),
    (utilities.Error, "__init__", "(self, body)"),
    (loop, "close_all", "(map=None, ignore_all=False)"),
    (loop, "poll2", "(timeout=0.0, map=None)"),
]

ATTRIBUTES = [
    (
        CHANNEL,
        (
            "adj close_when_flushed connected error_task_class last_activity "
            "parser_class request requests requests_lock sent_continue server socket "
            "task_class total_outbufs_len will_close write_soon"
        ),
    ),
    (
        SERVER,
        (
            "_map accepting active_channels adj channel_class next_channel_cleanup "
            "socket trigger"
        ),
    ),
    (
        PARSER,
        (
            "adj body_bytes_received body_rcv chunked command completed "
            "connection_close content_length empty error expect_continue header_plus "
            "headers headers_finished path query request_uri url_scheme version"
        ),
    ),
    (
        task.WSGITask,
        (
            "channel close_on_finish complete content_bytes_written content_length "
            "has_body request response_headers start_time status version wrote_header"
        ),
    ),
    (POOL, "active_count lock queue stop_count threads"),
    (utilities.Error, "body code reason"),
]

OURS: list[type] = [
    connections.Connection,
    requests.Request,
    responses.Answer,
    responses.Refusal,
    web._TcpAcceptor,
    web._UnixAcceptor,
    core_channel.ControlChannel,
    core_channel._Parser,
    core_channel._Refusal,
    core_channel._Request,
    core_pools._Pool,
    core_server.ControlServer,
]


def is_theirs(kind: type) -> bool:
    return kind.__module__.startswith("waitress.")


def overrides(kind: type) -> Iterator[tuple[type, str]]:
    """The methods of waitress's that a class of ours has in a form of its own."""
    own = {
        name
        for each in kind.__mro__
        if not is_theirs(each) and each is not object
        for name, value in vars(each).items()
        if inspect.isfunction(value)
    }
    theirs = next(each for each in kind.__mro__ if is_theirs(each))
    for name in own & set(dir(theirs)):
        if getattr(theirs, name) is not getattr(object, name, None):
            yield theirs, name


@pytest.mark.parametrize(
    ("holder", "name", "signature"),
    SIGNATURES,
    ids=[f"{holder.__name__}.{name}" for holder, name, _ in SIGNATURES],
)
def test_what_we_override_or_call_is_called_as_ever(
    holder: Any, name: str, signature: str
) -> None:
    assert str(inspect.signature(getattr(holder, name))) == signature


@pytest.mark.parametrize(("holder", "names"), ATTRIBUTES)
def test_what_we_use_is_still_called_so(holder: type, names: str) -> None:
    """As a member of the class, or as a name in the code of a method."""
    functions = [value for _, value in inspect.getmembers(holder, inspect.isfunction)]
    known = set(dir(holder)).union(*(each.__code__.co_names for each in functions))
    refuse(f"{holder.__name__}.{each}" for each in names.split() if each not in known)


def test_every_method_that_we_override_is_named_here() -> None:
    named = {getattr(holder, name) for holder, name, _ in SIGNATURES}
    refuse(
        f"{ours.__name__}: {theirs.__name__}.{name}"
        for ours in OURS
        for theirs, name in overrides(ours)
        if getattr(theirs, name) not in named
    )
