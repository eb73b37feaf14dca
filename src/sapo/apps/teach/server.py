"""Open a project, get its model ready, serve the page until a signal comes, and keep the model."""

import contextlib
import functools
import gc
import os
import sys
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sapo import jit
from sapo.apps.http import NAMES, Guard, Say, bind, is_loopback, listening_server, new_token, url_of
from sapo.apps.limits import RequestLimits
from sapo.apps.taggers import SPANS, TAGS
from sapo.apps.taggers import warm_up as warm_up_tagger
from sapo.apps.teach.app import Hub, TeachApp
from sapo.apps.teach.classroom import Classroom
from sapo.apps.teach.predictions import predict
from sapo.apps.teach.pupil import Pupil, load_pupil, train_on_all
from sapo.apps.teach.retraining import Habits, Retraining
from sapo.apps.teach.state import UNDO
from sapo.apps.teach.store import Snapshot, Store, save_snapshot, sole_server
from sapo.errors import SapoError
from sapo.tagger.tagger import Tagger
from sapo.training.update import Trainer

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
        retraining = Retraining(store.path, None if base is None else base.model, habits)
        pupil = Pupil(store.kind, based=base is not None)
        classroom = Classroom(store, pupil, retraining, lambda *what: None)
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
    taken_back = any(event.kind == UNDO for event in since)
    classroom.retraining.begin(pupil.seq if taken_back else store.state.seq)  # the snapshot may know what is undone
    new = classroom.changes(since)
    if new:
        say(f"sapo: learning {len(new):,} sentences")
    try:
        pupil.learn(new, store.state.seq, classroom)
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
    say(f"sapo: open {where} (Ctrl-C ends)")
    # without a screen, Python would start a browser of the terminal, and wait for it
    seen = sys.platform in ("win32", "darwin") or bool({"DISPLAY", "WAYLAND_DISPLAY"} & set(os.environ))
    if browser and seen:
        threading.Thread(target=webbrowser.open, args=(where,), daemon=True).start()
