"""The server of the page as an ASGI application. One thread does all the work, so that events have one order."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

from sapo.errors import SapoError
from sapo.serve.asgi import Headers, Reply, Send, answered, check_json, check_method
from sapo.serve.batching import Result, Worker
from sapo.serve.limits import Limits, Receive, RefusedError
from sapo.teach import messages
from sapo.teach.answers import Answers
from sapo.teach.classroom import Classroom
from sapo.teach.guard import HEADERS, Guard
from sapo.teach.hub import Hub, event_bytes, stream
from sapo.teach.openapi import document
from sapo.teach.paths import EVENTS, EXPORT, GETS, POSTS, parse_path
from sapo.teach.project import exported
from sapo.teach.static import page_files

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
            return None, messages.read_form(await self.limits.read_body(headers, receive), POSTS[path].form)

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
                one if isinstance(one, Exception) else messages.write_json(one)
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
                return messages.write_json(ask(number, form))
            return messages.write_json(self._simple[path](form))
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
