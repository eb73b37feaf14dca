"""Serve the page as an ASGI application; one thread does all the work."""

import asyncio
import contextlib
import dataclasses
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.resources import files
from typing import Any

from sapo.apps.http import (
    EVENT_STREAM,
    HEADERS,
    Guard,
    HttpApp,
    Operation,
    Reply,
    Request,
    Result,
    Say,
    WorkerThreads,
    write_json,
)
from sapo.apps.limits import RefusedError, RequestLimits
from sapo.apps.teach import messages
from sapo.apps.teach.answers import Answers
from sapo.apps.teach.classroom import Classroom
from sapo.apps.teach.messages import ACCEPT, EVENTS, EXPLAIN, EXPORT, NBEST, OPERATIONS, document
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
            found[path] = Reply(file.read_bytes(), type=kind)
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
            raise RefusedError(503, f"{MOST} pages are open already; close one", {"retry-after": "10"})
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


TOGETHER = 8  # accepted sentences that are learned at once: the first waits for the screens of all


class TeachApp(HttpApp):
    """Answers the page. `hub` tells it what others do."""

    def __init__(self, classroom: Classroom, hub: Hub, guard: Guard, limits: RequestLimits, say: Say) -> None:
        self._files = page_files()
        super().__init__(OPERATIONS | dict.fromkeys(self._files, Operation("GET", at_once=True)), limits, say)
        self.classroom, self.hub, self.guard = classroom, hub, guard
        self._answers = answers = Answers(classroom)
        self._at_once = self._files | {"/openapi.json": Reply(json.dumps(document()).encode())}
        self.worker = WorkerThreads(self._work, "sapo-teach", idle=classroom.idle, most=TOGETHER, urgent=ACCEPT)
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

    def admit(self, request: Request) -> None:
        """Refuse other sites, and everything but the files of the page without the token."""
        self.guard.check_host(request.headers)
        if request.path not in self._files:
            self.guard.check_token(request.headers)

    def finish(self, request: Request, reply: Reply, seconds: float) -> Reply:
        """Add the headers that keep the page safe, and how long the answer took."""
        took = {"server-timing": f"total;dur={1000 * seconds:.1f}"}
        return dataclasses.replace(reply, headers={**HEADERS, **reply.headers, **took})

    async def handle(self, request: Request, form: Any) -> Reply:
        """Send a file of the page or a stream of events, or let the worker answer."""
        if request.path == "/" and "token" in (query := request.query()):
            return self._enter(query["token"])
        if request.path in self._at_once:
            return self._at_once[request.path]
        if request.path == EVENTS:
            parts = self._events(_last_event(request) or form.after)
            return Reply(await anext(parts), type=EVENT_STREAM, parts=parts)
        body = await self.worker.answer(request.path, (request.parameter, form))
        if request.path == EXPORT:
            name = f'attachment; filename="{self.classroom.store.path.stem}.export"'
            return Reply(body, type="application/octet-stream", headers={"content-disposition": _ascii(name)})
        return Reply(body)

    async def _events(self, after: int | None) -> AsyncGenerator[bytes]:
        """Yield events until the page or the server goes."""
        with self.hub.page() as queue:
            missed = await self.worker.answer(EVENTS, ("", messages.EventsForm(after=after)))
            yield b": here\n\n" + missed
            async for part in stream(queue):
                yield part

    def _label(self, form: messages.LabelForm) -> messages.ProjectAnswer:
        self.classroom.label(form)
        return self._answers.project(messages.Asked())

    def _enter(self, token: str) -> Reply:
        """Let a browser remember the token, and go to the page without it in the address."""
        if not self.guard.knows(token):
            raise RefusedError(401, "this is not the token of this server")
        return Reply(status=303, headers={"location": "/", "set-cookie": self.guard.cookie()})

    def _work(self, path: str, requests: Sequence[tuple[str, Any]]) -> list[Result]:
        """Answer requests to one path, in the thread of the worker."""
        if path == ACCEPT:
            return [
                one if isinstance(one, Exception) else write_json(one)
                for one in self.classroom.accept([form for _, form in requests])
            ]
        return [self._worked_one(path, parameter, form) for parameter, form in requests]

    def _worked_one(self, path: str, parameter: str, form: Any) -> Result:
        try:
            if path == EXPORT:
                return exported(self.classroom.store, form.format)
            if path == EVENTS:
                return b"".join(map(event_bytes, self.classroom.news(form.after)))
            if path == NBEST:
                return write_json(self._answers.nbest(int(parameter), form))
            if path == EXPLAIN:
                return write_json(self._answers.explain(int(parameter), form))
            return write_json(self._simple[path](form))
        except SapoError as error:
            return error


def _last_event(request: Request) -> int | None:
    """Return the last event that a browser has seen which lost the connection, and asks again."""
    last = request.headers.get(b"last-event-id", b"")
    return int(last) if last.isdigit() and len(last) < 16 else None


def _ascii(text: str) -> str:
    return text.encode("ascii", "replace").decode().replace("\n", " ").replace("\r", " ")
