"""Serve the page as an ASGI application; one thread does all the work."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qsl

from sapo.apps.http import HEADERS, Guard, Headers, Reply, Result, Send, Worker, answered, check_json, check_method
from sapo.apps.limits import Limits, Receive, RefusedError
from sapo.apps.serve.messages import read_form, write_json
from sapo.apps.teach import messages
from sapo.apps.teach.answers import Answers
from sapo.apps.teach.classroom import Classroom
from sapo.apps.teach.messages import EVENTS, EXPORT, GETS, POSTS, document, parse_path
from sapo.apps.teach.project import exported
from sapo.errors import SapoError

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
PAGE = "page.html"


def page_files() -> dict[str, Reply]:
    """Return the files of the page by their paths; the page itself is at /."""
    found = {}
    room = files("sapo.apps.teach") / "page"
    for file in room.iterdir() if room.is_dir() else ():
        kind = TYPES.get("." + file.name.rpartition(".")[2])
        if kind is not None and file.is_file():
            path = "/" if file.name == PAGE else f"/{file.name}"
            found[path] = Reply(file.read_bytes(), type=kind, headers=HEADERS)
    return found


MOST = 64  # pages at the same time
WAITING = 1000  # events for one page; one that does not read them is dropped, and asks again
PULSE = 15.0  # seconds after which a page hears that the server is there


class Hub:
    """Open pages. `publish` may be called from any thread, everything else from the event loop."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pages: set[asyncio.Queue[Mapping[str, Any] | None]] = set()
        self._closed = False

    def publish(self, event: Mapping[str, Any]) -> None:
        """Tell all pages."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the server has ended
                self._loop.call_soon_threadsafe(self._tell, event)

    @contextmanager
    def page(self) -> Iterator["asyncio.Queue[Mapping[str, Any] | None]"]:
        """Let a page listen."""
        if len(self._pages) >= MOST:
            raise RefusedError(503, f"{MOST} pages listen already; close one", **{"retry-after": "10"})
        self._loop = asyncio.get_running_loop()
        queue: asyncio.Queue[Mapping[str, Any] | None] = asyncio.Queue(WAITING)
        self._pages.add(queue)
        try:
            if self._closed:
                queue.put_nowait(None)
            yield queue
        finally:
            self._pages.discard(queue)

    def close(self) -> None:
        """Say goodbye to all pages."""
        self._closed = True
        for queue in list(self._pages):
            self._put(queue, None)

    def _tell(self, event: Mapping[str, Any]) -> None:
        for queue in list(self._pages):
            self._put(queue, event)

    def _put(self, queue: "asyncio.Queue[Mapping[str, Any] | None]", event: Mapping[str, Any] | None) -> None:
        try:
            queue.put_nowait(event)
        except asyncio.QueueFull:
            self._pages.discard(queue)
            while not queue.empty():
                queue.get_nowait()
            queue.put_nowait(None)


async def stream(queue: "asyncio.Queue[Mapping[str, Any] | None]", pulse: float = PULSE) -> AsyncIterator[bytes]:
    """Yield events as a browser reads them, until the end."""
    while True:
        try:
            event = await asyncio.wait_for(queue.get(), pulse)
        except TimeoutError:
            yield b": here\n\n"
            continue
        if event is None:
            return
        yield event_bytes(event)


def event_bytes(event: Mapping[str, Any]) -> bytes:
    """Return an event as a browser reads it.

    >>> event_bytes({"seq": 3, "kind": "model"})
    b'id: 3\\ndata: {"seq": 3, "kind": "model"}\\n\\n'
    """
    return f"id: {event['seq']}\ndata: {json.dumps(event)}\n\n".encode()


Say = Callable[[str], None]
ACCEPT = "/api/accept"
TOGETHER = 8  # accepted sentences that are learned at once: the first waits for the screens of all
DISCONNECTED = "http.disconnect"


class App:
    """Answers the page. `hub` tells it what others do."""

    def __init__(self, classroom: Classroom, hub: Hub, guard: Guard, limits: Limits, say: Say) -> None:
        self.classroom, self.hub, self.guard, self.limits = classroom, hub, guard, limits
        self._say = say
        self._running = 0
        self._files = page_files()
        self._openapi = Reply(json.dumps(document()).encode(), headers=HEADERS)
        self._answers = Answers(classroom)
        self.worker = Worker(self._work, "sapo-teach", idle=classroom.idle, most=TOGETHER, urgent=ACCEPT)
        answers = self._answers
        self._simple: dict[str, Callable[[Any], Any]] = {
            "/api/project": answers.project,
            "/api/sentences": answers.sentences,
            "/api/slips": answers.slips,
            "/api/disagreements": answers.disagreements,
            "/api/undo": classroom.undo,
            "/api/redo": classroom.redo,
            "/api/labels": self._label,
            "/api/lock": classroom.lock,
            "/api/unlock": classroom.unlock,
        }

    async def __call__(self, scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request, and say how long it took."""
        started = time.perf_counter()
        headers = dict(scope["headers"])
        if scope["path"] == EVENTS and scope["method"] == "GET":
            reply = await answered(self._listen(scope, headers, receive, send), self._say)
        else:
            reply = await answered(self._answer(scope, headers, receive), self._say)
        if reply is not None and reply.status:
            took = {"server-timing": f"total;dur={1000 * (time.perf_counter() - started):.1f}"}
            more = {**HEADERS, **reply.headers, **took}
            await Reply(reply.body, reply.status, reply.type, more).send(scope["method"], send)

    async def _answer(self, scope: Mapping[str, Any], headers: Headers, receive: Receive) -> Reply:
        method, (path, number) = scope["method"], parse_path(scope["path"])
        self.guard.check_host(headers)
        query = _query(scope)
        if path == "/" and "token" in query:
            return self._enter(query["token"])
        if path in self._files:
            check_method(path, method, "GET")
            return self._files[path]
        self.guard.check_token(headers)
        if path in ("/openapi.json", EXPORT) or path in GETS:
            check_method(path, method, "GET")
            if path == "/openapi.json":
                return self._openapi
            form = messages.read_query(query, messages.ExportForm if path == EXPORT else GETS[path].form)
            return await self._worked(path, lambda: _ready((number, form)))
        if path not in POSTS:
            raise RefusedError(404, f"there is no {path}; /openapi.json describes what there is")
        check_method(path, method, "POST")
        check_json(headers)

        async def read() -> Any:
            return None, read_form(await self.limits.read_body(headers, receive), POSTS[path].form)

        return await self._worked(path, read)

    async def _worked(self, path: str, read: Callable[[], Any]) -> Reply:
        """Let the worker answer, within the time and the number of requests that are allowed."""
        if self._running >= self.limits.requests:
            more = {"retry-after": "1"}
            raise RefusedError(503, f"the server has {self.limits.requests} requests already; try again", **more)
        self._running += 1
        try:
            async with asyncio.timeout(self.limits.seconds):
                body = await self.worker.answer(path, await read())
        except TimeoutError:
            raise RefusedError(504, f"the request took more than {self.limits.seconds:g} s") from None
        finally:
            self._running -= 1
        if path == EXPORT:
            name = f'attachment; filename="{self.classroom.store.path.stem}.export"'
            return Reply(body, type="application/octet-stream", headers={"content-disposition": _ascii(name)})
        return Reply(body)

    def _label(self, form: messages.LabelForm) -> messages.ProjectAnswer:
        self.classroom.label(form)
        return self._answers.project(messages.Asked())

    def _enter(self, token: str) -> Reply:
        """Let a browser remember the token, and go to the page without it in the address."""
        if not self.guard.knows(token):
            raise RefusedError(401, "this is not the token of this server")
        return Reply(b"", 303, headers={"location": "/", "set-cookie": self.guard.cookie()})

    async def _listen(self, scope: Mapping[str, Any], headers: Headers, receive: Receive, send: Send) -> Reply:
        """Send events until the page or the server goes."""
        self.guard.check_host(headers)
        self.guard.check_token(headers)
        query = _query(scope)
        last = headers.get(b"last-event-id", b"").decode("latin-1")
        if last.isdecimal():  # the browser has lost the connection, and asks again
            query["after"] = last
        form = messages.read_query(query, messages.EventsForm)
        with self.hub.page() as queue:
            missed = await self.worker.answer(EVENTS, (None, form))
            fields = Reply(b"", type="text/event-stream", headers=HEADERS).fields()
            start = [(key, value) for key, value in fields if key != b"content-length"]
            await send({"type": "http.response.start", "status": 200, "headers": start})
            await send({"type": "http.response.body", "body": b": here\n\n" + missed, "more_body": True})
            sending = asyncio.ensure_future(_send_all(stream(queue), send))
            gone = asyncio.ensure_future(_until_gone(receive))
            await asyncio.wait([sending, gone], return_when=asyncio.FIRST_COMPLETED)
            for task in (sending, gone):
                task.cancel()
        await send({"type": "http.response.body", "body": b"", "more_body": False})
        return Reply(b"", status=0)  # all is sent

    def _work(self, path: str, requests: Sequence[tuple[int | None, Any]]) -> list[Result]:
        """Answer requests to one path, in the thread of the worker."""
        if path == ACCEPT:
            return [
                one if isinstance(one, Exception) else write_json(one)
                for one in self.classroom.accept([form for _, form in requests])
            ]
        return [self._worked_one(path, number, form) for number, form in requests]

    def _worked_one(self, path: str, number: int | None, form: Any) -> Result:
        classroom = self.classroom
        try:
            if path == EXPORT:
                return exported(classroom.store, form.format)
            if path == EVENTS:
                return b"".join(map(event_bytes, classroom.news(form.after)))
            if number is not None:
                ask = self._answers.nbest if path.endswith("nbest") else self._answers.explain
                return write_json(ask(number, form))
            return write_json(self._simple[path](form))
        except SapoError as error:
            return error


async def _ready(value: Any) -> Any:
    return value


async def _send_all(parts: AsyncIterator[bytes], send: Send) -> None:
    async for part in parts:
        await send({"type": "http.response.body", "body": part, "more_body": True})


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != DISCONNECTED:
        pass


def _query(scope: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a request; of several with one name the last one."""
    text = scope.get("query_string", b"").decode("latin-1")
    try:
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=20))
    except ValueError:
        raise SapoError("a request has at most 20 parameters") from None


def _ascii(text: str) -> str:
    return text.encode("ascii", "replace").decode().replace("\n", " ").replace("\r", " ")
