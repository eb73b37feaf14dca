"""A stand-in for the server of `sapo teach`, for tests of the page alone: the same messages, and a very simple model.

It labels every word as the word was labeled last. So what a test must see is known without training anything, and an
accepted sentence visibly changes others. `texts` in, a server on a free port of 127.0.0.1 out.
"""

import json
import queue
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

PAGE = Path(__file__).parents[2] / "src" / "sapo" / "apps" / "teach" / "page"
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
WORD = re.compile(r"\w+|[^\w\s]")
Tags = list[str]
View = dict[str, Any]


class Teacher:
    """A project in memory: texts, what people accepted, and the words that the model knows."""

    def __init__(
        self, texts: list[str], labels: list[str], *, kind: str = "spans", known: dict[str, str] | None = None
    ) -> None:
        self.texts, self.labels, self.kind = texts, list(labels), kind
        self.tokens = [[list(match.span()) for match in WORD.finditer(text)] for text in texts]
        self.before = {word: (label, 0.7) for word, label in (known or {}).items()}
        self.known = dict(self.before)
        self.accepted: dict[int, dict[str, Tags]] = {}  # sentence, person, tags
        self.journal: list[tuple[int, str, Tags, Tags | None]] = []
        self.undone: list[tuple[int, str, Tags, Tags | None]] = []
        self.locks: dict[int, str] = {}
        self.version, self.curve = 1, []  # type: ignore[var-annotated]
        self.heard: list[tuple[str, dict[str, Any]]] = []  # what was posted, for tests
        self.listeners: list[queue.Queue[dict[str, Any] | None]] = []
        self.seq = 0
        self.down = False  # as if the server had died
        self.refusal = ""  # what it says to an accept

    def words(self, at: int) -> list[str]:
        """Return the tokens of a sentence."""
        return [self.texts[at][start:end] for start, end in self.tokens[at]]

    def predict(self, at: int) -> tuple[Tags, list[float]]:
        """Tag a sentence: words that were labeled are labeled so again."""
        tags: Tags = []
        before = None
        for word in self.words(at):
            label, _ = self.known.get(word, ("", 0.9))
            if self.kind == "tags":
                tags.append(label or self.labels[0])
            else:
                tags.append(f"{'I' if label == before else 'B'}-{label}" if label else "O")
            before = label or None
        return tags, [self.known.get(word, ("", 0.9))[1] for word in self.words(at)]

    def view(self, at: int) -> View:
        """Return a sentence as the page gets it."""
        people = self.accepted.get(at, {})
        tags, chances = self.predict(at)
        person = next(reversed(people), None)
        if person is not None:
            tags = people[person]
        return {
            "id": at,
            "text": self.texts[at],
            "tokens": self.tokens[at],
            "tags": tags,
            "spans": spans(tags, chances) if self.kind == "spans" else [],
            "probabilities": chances,
            "sure": round(min(chances, default=1.0), 3),
            "state": "accepted" if people else "open",
            "by": person,
            "lock": self.locks.get(at),
            "version": self.version,
        }

    def project(self) -> dict[str, Any]:
        """Return what the page asks first."""
        return {
            "name": "sample",
            "kind": self.kind,
            "labels": self.labels,
            "lists": [],
            "people": sorted({person for people in self.accepted.values() for person in people}),
            "orders": ["least-sure", "different", "random", "in-order"],
            "formats": ["columns", "jsonl"],
            "seq": self.seq,
            "curve": self.curve,
            **self.news(),
        }

    def news(self) -> dict[str, Any]:
        """Return what changes with every accept."""
        last = [people[next(reversed(people))] for people in self.accepted.values()]
        labels = [tag.removeprefix("B-") for tags in last for tag in tags if tag and tag[:2] != "I-" and tag != "O"]
        return {
            "counts": {
                "sentences": len(self.texts),
                "accepted": len(self.accepted),
                "by_label": {label: labels.count(label) for label in self.labels},
            },
            "model": {"version": self.version, "learned": len(self.accepted), "training": False},
        }

    def page(self, order: str, state: str, count: int, after: int | None) -> list[View]:
        """Return some sentences of an order."""
        ids = [at for at in range(len(self.texts)) if state in ("all", "accepted" if at in self.accepted else "open")]
        if order == "least-sure":
            ids.sort(key=lambda at: min(self.predict(at)[1], default=1.0))
        start = ids.index(after) + 1 if after in ids else 0
        return [self.view(at) for at in ids[start : start + count]]

    def accept(
        self, at: int, tags: Tags, author: str, visible: list[int], cuts: list[int] | None = None
    ) -> dict[str, Any]:
        """Take the tags of a sentence, learn from them, and say what else changed."""
        before = {one: self.view(one) for one in visible}
        for place in cuts or ():
            self._cut(at, place)
        self.journal.append((at, author, tags, self.accepted.get(at, {}).get(author)))
        self.undone.clear()
        wrong = self.predict(at)[0] != tags
        self._store(at, author, tags)
        self.curve = [*self.curve, {"accepted": len(self.accepted), "score": 0.4 if wrong else 0.8, "sure": 0.6}]
        self.tell("accepted", at, author)
        return self._answer(at, before)

    def turn(self, author: str, visible: list[int], *, back: bool) -> dict[str, Any]:
        """Undo or redo what a person did last."""
        before = {one: self.view(one) for one in visible}
        source, target = (self.journal, self.undone) if back else (self.undone, self.journal)
        steps = [place for place, step in enumerate(source) if step[1] == author]
        if not steps:
            return {"sentence": None, "changed": [], "curve_point": None, **self.news()}
        step = source.pop(steps[-1])
        target.append(step)
        at, _, tags, earlier = step
        self._store(at, author, earlier if back else tags)
        self.tell("undone" if back else "accepted", at, author)
        return self._answer(at, before)

    def slips(self) -> list[dict[str, Any]]:
        """Return accepted sentences that the model contradicts."""
        found = []
        for at in self.accepted:
            view, (tags, _) = self.view(at), self.predict(at)
            if tags != view["tags"]:
                found.append({"sentence": view, "model_tags": tags, "probability": 0.97})
        return found

    def disagreements(self) -> dict[str, Any]:
        """Return sentences that two people tagged differently."""
        both = {at: people for at, people in self.accepted.items() if len(people) > 1}
        items = [
            {"id": at, "text": self.texts[at], "by": people, "sentence": self.view(at)}
            for at, people in both.items()
            if len({tuple(tags) for tags in people.values()}) > 1
        ]
        return {"items": items, "kappa": 0.81 if both else None, "both": len(both)}

    def best(self, at: int) -> list[dict[str, Any]]:
        """Return three taggings: the model's, one without labels, and one with the first word labeled."""
        tags, chances = self.predict(at)
        blank = ["O" if self.kind == "spans" else self.labels[-1]] * len(tags)
        first = [f"B-{self.labels[0]}" if self.kind == "spans" else self.labels[0], *blank[1:]]
        found = [(tags, 0.62), (blank, 0.21), (first, 0.08)]
        return [{"tags": one, "spans": spans(one, chances), "probability": chance} for one, chance in found]

    def tell(self, kind: str, at: int | None = None, author: str = "") -> None:
        """Send an event to all listeners."""
        self.seq += 1
        for listener in self.listeners:
            listener.put({"seq": self.seq, "kind": kind, "id": at, "author": author})

    def _store(self, at: int, author: str, tags: Tags | None) -> None:
        if tags is not None:
            self.accepted.setdefault(at, {})[author] = tags
        else:
            del self.accepted[at][author]
            if not self.accepted[at]:
                del self.accepted[at]
        self.locks.pop(at, None)
        self.version += 1
        self._learn()

    def _cut(self, at: int, place: int) -> None:
        """Cut a token, and let both parts have the label that others gave it."""
        token, (start, end) = next(one for one in enumerate(self.tokens[at]) if one[1][0] < place < one[1][1])
        self.tokens[at][token : token + 1] = [[start, place], [place, end]]
        for tags in self.accepted.get(at, {}).values():
            tags.insert(token + 1, tags[token].replace("B-", "I-"))

    def _learn(self) -> None:
        """Know what the accepted sentences say, the later ones over the earlier ones."""
        self.known = dict(self.before)
        for at, people in self.accepted.items():
            for tags in people.values():
                for word, tag in zip(self.words(at), tags, strict=True):
                    chance = min(0.97, self.known[word][1] + 0.1) if word in self.known else 0.8
                    self.known[word] = (tag if self.kind == "tags" else tag[2:], chance)

    def _answer(self, at: int, before: dict[int, View]) -> dict[str, Any]:
        parts = ("tags", "probabilities")
        fresh = [self.view(one) for one in before if one != at]
        changed = [view for view in fresh if any(view[part] != before[view["id"]][part] for part in parts)]
        point = self.curve[-1] if self.curve else None
        return {"sentence": self.view(at), "changed": changed, "curve_point": point, **self.news()}


def spans(tags: Tags, chances: list[float]) -> list[dict[str, Any]]:
    """Return the spans of IOB2 tags."""
    found: list[dict[str, Any]] = []
    for at, tag in enumerate(tags):
        if tag.startswith("B-"):
            found.append({"from": at, "to": at + 1, "label": tag[2:], "probability": chances[at]})
        elif tag.startswith("I-") and found:
            found[-1]["to"] = at + 1
    return found


class Answer(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    teacher: ClassVar[Teacher]

    def do_GET(self) -> None:
        """Answer with a file of the page or with data."""
        where = urlsplit(self.path)
        asked = {key: values[0] for key, values in parse_qs(where.query).items()}
        name = "page.html" if where.path == "/" else where.path.lstrip("/")
        if not name.startswith("api/"):
            file = PAGE / Path(name).name
            if not file.is_file():
                return self._json(404, {"error": "no such file"})
            return self._send(200, file.read_bytes(), KINDS[file.suffix], {"Cache-Control": "max-age=600"})
        if self.teacher.down:
            return self._hang_up()
        if name == "api/events":
            return self._events()
        return self._json(200, self._read(name.removeprefix("api/"), asked))

    def do_POST(self) -> None:
        """Take what a person did."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        teacher, name = self.teacher, self.path.removeprefix("/api/")
        if teacher.down:
            return self._hang_up()
        teacher.heard.append((name, body))
        if name == "accept" and teacher.refusal:
            return self._json(422, {"error": teacher.refusal})
        holder = teacher.locks.get(body["id"]) if name == "accept" else None
        if holder not in (None, body.get("author")):
            return self._json(409, {"error": f"{holder} is working on this sentence"})
        return self._json(200, self._do(name, body))

    def _read(self, name: str, asked: dict[str, str]) -> dict[str, Any]:
        teacher = self.teacher
        if name == "sentences" and "ids" in asked:
            return {"sentences": [teacher.view(int(one)) for one in asked["ids"].split(",")]}
        if name == "sentences":
            after = int(asked["after"]) if "after" in asked else None
            order, state = asked.get("order", "in-order"), asked.get("state", "open")
            return {"sentences": teacher.page(order, state, int(asked["count"]), after), "total": len(teacher.texts)}
        if name.endswith("/nbest"):
            return {"taggings": teacher.best(int(name.split("/")[1]))}
        if name.endswith("/explain"):
            token = int(asked["token"])
            at = int(name.split("/")[1])
            word = teacher.words(at)[token]
            reasons = {"for": [{"feature": f"word={word}", "weight": 1.2}, {"feature": "shape=Xx", "weight": 0.6}]}
            against = {"against": [{"feature": "prev=the", "weight": -0.4}]}
            return {"token": token, "label": teacher.predict(at)[0][token], "other": "O", **reasons, **against}
        read: dict[str, Callable[[], dict[str, Any]]] = {
            "project": teacher.project,
            "slips": lambda: {"slips": teacher.slips()},
            "disagreements": teacher.disagreements,
        }
        return read[name]()

    def _do(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        teacher, author = self.teacher, body.get("author", "")
        if name == "accept":
            return teacher.accept(body["id"], body["tags"], author, body["visible"], body["cuts"])
        if name in ("undo", "redo"):
            return teacher.turn(author, body["visible"], back=name == "undo")
        if name == "labels":
            teacher.labels.append(body["name"])
            teacher.tell("label")
            return teacher.project()
        holder = teacher.locks.get(body["id"])
        if holder in (None, author) or body.get("take"):
            if name == "lock":
                teacher.locks[body["id"]] = author
            else:
                teacher.locks.pop(body["id"], None)
            teacher.tell(name, body["id"], author)
        return {"lock": teacher.locks.get(body["id"])}

    def _events(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        heard: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.teacher.listeners.append(heard)
        try:
            self.wfile.write(b": here\n\n")
            while (event := heard.get()) is not None:
                self.wfile.write(f"id: {event['seq']}\ndata: {json.dumps(event)}\n\n".encode())
        except OSError:
            pass  # the page is gone
        finally:
            self.teacher.listeners.remove(heard)

    def _hang_up(self) -> None:
        self.close_connection = True

    def _json(self, status: int, content: dict[str, Any]) -> None:
        self._send(status, json.dumps(content).encode(), "application/json")

    def _send(self, status: int, body: bytes, kind: str, more: dict[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", POLICY)
        for name, value in (more or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Stay silent."""


class Quiet(ThreadingHTTPServer):
    """A server that does not print the connections that a browser cuts."""

    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """Stay silent: a closed page cuts its connections."""


class Stage:
    """A running server, which shows one project after the other."""

    def __init__(self) -> None:
        self._answers = type("Answers", (Answer,), {"teacher": None})
        self._server = Quiet(("127.0.0.1", 0), self._answers)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()
        self.address = f"http://127.0.0.1:{self._server.server_port}"

    def show(self, teacher: Teacher) -> None:
        """Serve a project from now on."""
        self.hush()
        self._answers.teacher = teacher

    def hush(self) -> None:
        """End the streams of events."""
        for listener in list(self._answers.teacher.listeners if self._answers.teacher else []):
            listener.put(None)

    def close(self) -> None:
        """End the server."""
        self.hush()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextmanager
def stage() -> Iterator[Stage]:
    """Return a server that ends with the block."""
    started = Stage()
    try:
        yield started
    finally:
        started.close()
