"""Clients that send without end, or hardly at all, over a real socket."""

import socket
import threading
import time
from collections.abc import Iterator
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
    with client.makefile("rb") as stream:
        head = b"".join(iter(stream.readline, b"\r\n"))
        length = int(head.partition(b"content-length: ")[2].split()[0])
        return head + stream.read(length)


def test_a_request_is_answered(client: socket.socket) -> None:
    for body in (b"a", b"bc"):  # twice over the same connection
        client.sendall(b"POST / HTTP/1.1\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
        assert answer(client).endswith(b"\r\n" + body)


def test_many_requests_over_one_connection_are_not_too_long_together(client: socket.socket) -> None:
    for _ in range(100):
        client.sendall(b"GET / HTTP/1.1\r\nx: %s\r\n\r\n" % (b"y" * 2000))
        assert answer(client).startswith(b"HTTP/1.1 200")


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
