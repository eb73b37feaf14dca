"""Clients that send without end, or hardly at all, over a real socket."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

pytest.importorskip("uvicorn")

from sapo.apps import http
from sapo.apps.http import bind, listening_server
from sapo.apps.limits import RequestLimits

LIMITS = RequestLimits(body=1000, seconds=0.1)
PATIENCE = 10.0  # seconds after which a test fails


async def echo(scope: Any, receive: Any, send: Any) -> None:
    body = await LIMITS.read_body(dict(scope["headers"]), receive)
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": 200, "headers": [length]})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture(scope="module")
def address() -> Iterator[tuple[str, int]]:
    with pytest.MonkeyPatch.context() as patch, bind("127.0.0.1", 0) as bound:
        patch.setattr(http, "SPARE", 0.1)
        server = listening_server(echo, LIMITS, bound)
        thread = threading.Thread(target=server.run, args=([bound],))
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield bound.getsockname()
        server.should_exit = True
        thread.join()


@pytest.fixture
def client(address: tuple[str, int]) -> Iterator[socket.socket]:
    with socket.create_connection(address, PATIENCE) as connection:
        yield connection


def heard(client: socket.socket) -> bytes:
    """Return all that comes until the server closes the connection; fail if it does not."""
    parts = []
    try:
        while part := client.recv(1 << 16):
            parts.append(part)
    except ConnectionError:
        pass
    return b"".join(parts)


def send_without_end(client: socket.socket, piece: bytes) -> int:
    """Send until the server closes the connection; return how many bytes it took, or fail after 100 MB."""
    sent = 0
    try:
        while sent < 100_000_000:
            client.sendall(piece)
            sent += len(piece)
    except ConnectionError:
        return sent
    raise AssertionError("the server takes everything")


def answer(client: socket.socket) -> bytes:
    """Return one answer, whose head and body may come apart."""
    return answers(client, 1)[0]


def answers(client: socket.socket, count: int) -> list[bytes]:
    """Return answers to requests that were sent one behind the other."""
    found = []
    with client.makefile("rb") as stream:
        for _ in range(count):
            head = b"".join(iter(stream.readline, b"\r\n"))
            length = int(head.partition(b"content-length: ")[2].split()[0])
            found.append(head + stream.read(length))
    return found


def test_a_request_is_answered(client: socket.socket) -> None:
    for body in (b"a", b"bc"):  # twice over the same connection
        client.sendall(b"POST / HTTP/1.1\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
        assert answer(client).endswith(b"\r\n" + body)


def test_many_requests_over_one_connection_are_not_too_long_together(client: socket.socket) -> None:
    for _ in range(100):
        client.sendall(b"GET / HTTP/1.1\r\nx: %s\r\n\r\n" % (b"y" * 2000))
        assert answer(client).startswith(b"HTTP/1.1 200")


OFFERS = [  # as the HttpClient of Java and curl --http2 send them, and in other words
    b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABk\r\n",
    b"upgrade: h2c\r\nconnection: keep-alive\r\nconnection: upgrade\r\n",
    b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n",
]


@pytest.mark.parametrize("offer", OFFERS)
@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_an_offer_to_upgrade_is_ignored(client: socket.socket, offer: bytes, chunked: bool, size: int) -> None:
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    length = b"Transfer-Encoding: chunked" if chunked else b"Content-Length: 11"
    body = b"6\r\nhello \r\n5\r\nUpgra\r\n0\r\n\r\n" if chunked else b"hello Upgra"
    request = b"POST /?a=b HTTP/1.1\r\nHost: a\r\n" + offer + length + b"\r\n\r\n" + body
    for _ in range(2):  # over the same connection
        for at in range(0, len(request), size):
            client.sendall(request[at : at + size])
        assert answer(client).endswith(b"\r\nhello Upgra")
    client.sendall(request * 3)
    assert all(one.endswith(b"\r\nhello Upgra") for one in answers(client, 3))


def test_a_head_that_is_too_long_is_refused_also_in_one_piece(client: socket.socket) -> None:
    client.sendall(b"POST / HTTP/1.1\r\nx: %s\r\ncontent-length: 0\r\n\r\n" % (b"y" * 70_000))
    assert heard(client).startswith(b"HTTP/1.1 431")


def test_of_too_many_slow_requests_the_oldest_is_closed(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "CONNECTIONS", 3)
    monkeypatch.setattr(http, "SLOW", 0.0)
    monkeypatch.setattr(http, "SPARE", 100.0)
    with ExitStack() as stack:
        slow = [stack.enter_context(socket.create_connection(address, PATIENCE)) for _ in range(5)]
        for one in slow[:2]:
            assert heard(one) == b""
        slow[-1].sendall(b"POST / HTTP/1.1\r\ncontent-length: 1\r\n\r\na")
        assert answer(slow[-1]).startswith(b"HTTP/1.1 200")


def test_bodies_that_are_held_back_do_not_fill_the_memory(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "ARRIVING", 200_000)
    monkeypatch.setattr(http, "SPARE", 100.0)
    monkeypatch.setattr(http, "HEAD", 50_000)
    with ExitStack() as stack:
        slow = [stack.enter_context(socket.create_connection(address, PATIENCE)) for _ in range(5)]
        for one in slow:
            one.sendall(b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n" + b"1;%s\r\na\r\n" % (b"x" * 57_000))
        for one in slow[:2]:
            assert heard(one) == b""
        slow[-1].sendall(b"0\r\n\r\n")
        assert answer(slow[-1]).endswith(b"\r\na")


@pytest.mark.parametrize("beginning", [b"GET /", b"GET / HTTP/1.1\r\nx: ", b"GET / HTTP/1.1\r\n"])
def test_a_head_without_end_is_refused(client: socket.socket, beginning: bytes) -> None:
    client.sendall(beginning)
    piece = b"a: b\r\n" * 10_000 if beginning.endswith(b"\n") else b"x" * 60_000
    client.sendall(piece)
    client.sendall(piece)
    assert heard(client).startswith(b"HTTP/1.1 431")


@pytest.mark.parametrize("piece", [b"x" * 9999 + b"\r\n", b"1;" + b"x" * 9999 + b"\r\na\r\n"])
def test_a_body_or_trailer_without_end_is_cut(client: socket.socket, piece: bytes) -> None:
    end = b"" if piece.startswith(b"1") else b"0\r\nt: "
    client.sendall(b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n" + end)
    assert send_without_end(client, piece) < 20_000_000  # most of it lies in buffers of the system


@pytest.mark.parametrize("beginning", [b"", b"GET / HT", b"POST / HTTP/1.1\r\ncontent-length: 9\r\n\r\nab", b"\r\n"])
def test_a_client_that_says_no_more_is_sent_away(client: socket.socket, beginning: bytes) -> None:
    client.sendall(beginning)
    heard(client)


def test_a_client_that_sends_empty_lines_for_ever_is_sent_away(client: socket.socket) -> None:
    client.sendall(b"GET / HTTP/1.1\r\n\r\n")
    assert answer(client).startswith(b"HTTP/1.1 200")
    end = time.monotonic() + PATIENCE
    with pytest.raises(ConnectionError):  # noqa: PT012
        while time.monotonic() < end:
            client.sendall(b"\r\n")
            time.sleep(0.05)
