"""Open a project, serve its page until a signal comes, and keep the model; one thread does all the work."""

import asyncio
import contextlib
import dataclasses
import functools
import gc
import json
import os
import sys
import threading
import webbrowser
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

from sapo import jit
from sapo.apps.http import (
    EVENT_STREAM,
    HEADERS,
    NAMES,
    Guard,
    HttpApp,
    Operation,
    Reply,
    Request,
    Result,
    Say,
    WorkerThreads,
    bind,
    is_loopback,
    listening_server,
    new_token,
    url_of,
    write_json,
)
from sapo.apps.limits import RefusedError, RequestLimits
from sapo.apps.taggers import SPANS, TAGS
from sapo.apps.taggers import warm_up as warm_up_tagger
from sapo.apps.teach import messages
from sapo.apps.teach.answers import Answers
from sapo.apps.teach.classroom import Classroom
from sapo.apps.teach.messages import ACCEPT, EVENTS, EXPLAIN, EXPORT, NBEST, OPERATIONS, document
from sapo.apps.teach.predictions import predict
from sapo.apps.teach.project import exported
from sapo.apps.teach.pupil import Pupil, load_pupil, train_on_all
from sapo.apps.teach.retraining import Habits, Retraining
from sapo.apps.teach.state import FROM_SCRATCH
from sapo.apps.teach.store import Snapshot, Store, save_snapshot, sole_server
from sapo.errors import SapoError
from sapo.tagger.tagger import Tagger
from sapo.training.unlabeled import word_clusters
from sapo.training.update import Trainer

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
            raise RefusedError(503, f"{MOST} pages are already open; close one", {"retry-after": "10"})
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
        operations = OPERATIONS | dict.fromkeys(self._files, Operation("GET", at_once=True))
        super().__init__(operations, limits, say, guard=guard)
        self.classroom, self.hub, self._guard = classroom, hub, guard
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
            "/api/labels": functools.partial(self._added, classroom.label),
            "/api/names": functools.partial(self._added, classroom.name),
            "/api/lock": classroom.lock,
            "/api/unlock": classroom.unlock,
        }

    def admit(self, request: Request) -> None:
        """Refuse other sites, and everything but the files of the page without the token."""
        super().admit(request)
        if request.path not in self._files:
            self._guard.check_token(request.headers)

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

    def _added(self, add: Callable[[Any], None], form: Any) -> messages.ProjectAnswer:
        add(form)
        return self._answers.project(messages.Asked())

    def _enter(self, token: str) -> Reply:
        """Let a browser remember the token, and go to the page without it in the address."""
        if not self._guard.knows(token):
            raise RefusedError(401, "wrong token")
        return Reply(status=303, headers={"location": "/", "set-cookie": self._guard.cookie()})

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
        except (SapoError, RefusedError) as error:
            return error


def _last_event(request: Request) -> int | None:
    """Return the last event that a browser has seen which lost the connection, and asks again."""
    last = request.headers.get(b"last-event-id", b"")
    return int(last) if last.isdigit() and len(last) < 16 else None


def _ascii(text: str) -> str:
    return text.encode("ascii", "replace").decode().replace("\n", " ").replace("\r", " ")


LIMITS = RequestLimits(body=4_000_000, seconds=30.0, requests=256)
TOY = {
    SPANS: [(["in", "New", "York"], ["O", "B-X", "I-X"]), (["at", "home", "."], ["O", "O", "O"])],
    TAGS: [(["a", "dog", "."], ["A", "B", "C"]), (["no", "rain", "."], ["A", "B", "C"])],
}
SWITCH = 0.0005  # seconds that the thread that reads requests waits for one that works


def teach(
    path: str | Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    token: bool = False,
    browser: bool = True,
    say: Say = print,
    habits: Habits | None = None,
) -> None:
    """Serve the page of a project until SIGINT or SIGTERM, which then act as usual. `say` gets the lines for the log.

    Where other machines can reach the server, it always asks for a token. Raises SapoError if the project cannot be
    opened, or the address cannot be used.
    """
    with bind(host, port) as bound:
        secret = new_token() if token or not is_loopback(bound) else None
        guard = Guard(bound.getsockname()[1], secret, (*NAMES, host.lower()))
        hub = Hub()
        with opened(path, hub, say, habits) as classroom:
            app = TeachApp(classroom, hub, guard, LIMITS, say)
            where = url_of(bound) + ("/" if secret is None else f"/?token={secret}")
            ready = functools.partial(_welcome, where, browser, say)
            server = listening_server(app, LIMITS, bound, ready=ready, closing=hub.close)  # pages would keep it running
            before = sys.getswitchinterval()
            sys.setswitchinterval(SWITCH)
            gc.freeze()  # what is there now stays: to look through it would hold up an answer
            try:
                server.run([bound])
            finally:
                sys.setswitchinterval(before)
                gc.unfreeze()
                app.worker.end()


@contextmanager
def opened(path: str | Path, hub: Hub, say: Say, habits: Habits | None = None) -> Iterator[Classroom]:
    """Open a project with its model ready; keep the model in the end."""
    with contextlib.closing(Store(path)) as store, sole_server(store.path):
        store.refresh()  # what the last server wrote before it ended
        say("sapo: getting ready")
        warm_up(store.kind)
        base = store.base()
        model = None if base is None else base.model
        clusters = None if model is not None else word_clusters(one.words for one in store.sentences.values())
        retraining, pupil = Retraining(store.path, model, habits), Pupil(store.kind, model)
        classroom = Classroom(store, pupil, retraining, lambda *what: None, clusters)
        classroom.publish = lambda kind, sentence, author: hub.publish(
            {"seq": classroom.state.seq, "kind": kind, "id": sentence, "author": author}
        )
        try:
            known = recall(classroom, say)
            try:
                yield classroom
            finally:  # after Ctrl-C, too
                if retraining.settled(classroom):  # else the journal is enough
                    keep(pupil, store.path, known)
        finally:
            retraining.end()


def keep(pupil: Pupil, path: Path, known: int) -> None:
    """Keep the model, if it has learned something since a version."""
    if pupil.version != known and (model := pupil.snapshot()) is not None:
        save_snapshot(path, Snapshot(pupil.seq, model))


def recall(classroom: Classroom, say: Say) -> int:
    """Let the model learn what is in the journal, from the last snapshot on; return the version of the snapshot."""
    pupil, store = classroom.pupil, classroom.store
    snapshot = store.snapshot()
    if snapshot is not None:
        try:
            pupil.take(load_pupil(snapshot.model, f"{store.path}: its model"), snapshot.seq)
        except SapoError as error:
            if snapshot.base:
                raise
            say(f"sapo: warning: {error}; learning everything again")
    known = pupil.version
    since = store.state.since(pupil.seq)
    again = any(event.kind in FROM_SCRATCH for event in since)
    classroom.retraining.begin(pupil.seq if again else store.state.seq)  # the snapshot may know what is undone
    new = classroom.changes(since)
    if new:
        say(f"sapo: learning {len(new):,} sentences")
    try:
        pupil.learn(new, store.state.seq, classroom, from_scratch=again)
    except SapoError as error:  # the page must open, whatever the model can learn
        classroom.problem = str(error)
        say(f"sapo: warning: {error}")
    classroom.retraining.start(pupil, classroom)
    return known


@functools.cache
def warm_up(kind: str) -> None:
    """Do once what people will ask for, so that no answer waits for a kernel to compile."""
    jit.compile_kernels()
    trainer = Trainer(train_on_all(kind, TOY[kind]))
    trainer.update(TOY[kind], new_labels=True)
    warm_up_tagger(Tagger(trainer.tagger.model))
    list(predict(trainer.tagger.model, kind, [words for words, _ in TOY[kind]]))


def _welcome(where: str, browser: bool, say: Say) -> None:
    say(f"sapo: open {where} (stop with Ctrl-C)")
    # without a screen, Python would start a browser of the terminal, and wait for it
    seen = sys.platform in ("win32", "darwin") or bool({"DISPLAY", "WAYLAND_DISPLAY"} & set(os.environ))
    if browser and seen:
        threading.Thread(target=webbrowser.open, args=(where,), daemon=True).start()
