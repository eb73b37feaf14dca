"""A changed model file is taken up without losing a request, and a broken one is not."""

import asyncio
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import sapo
from sapo.errors import SapoError

OTHER = [(["in", "Oslo"], ["O", "B-CITY"]), (["at", "home"], ["O", "O"])]


@pytest.fixture
def own(originals: Path, tmp_path: Path) -> Path:
    """A copy of a model, to be changed."""
    return Path(shutil.copy(originals / "place.sapo", tmp_path / "place.sapo"))


@pytest.fixture(scope="session")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("other") / "other.sapo"
    sapo.train(OTHER, template="ner", epochs=3).save(path)
    return path


def types(client: Any) -> list[str]:
    reply = client.post("/tag", {"tokens": ["in", "Oslo"]})
    assert reply.status == 200
    return [span["type"] for span in reply.json["sentences"][0]["spans"]]


def test_a_changed_file_is_taken_up_under_requests(new_client: Any, own: Path, other: Path) -> None:
    client = new_client(own)
    seen: list[str] = []
    body, headers = b'{"tokens": ["in", "Oslo"]}', {"content-type": "application/json"}

    async def ask() -> None:
        for _ in range(100_000):
            if seen[-3:] == ["CITY"] * 3:
                return
            reply = await client.asked("POST", "/tag", [body], headers)
            assert reply.status == 200
            seen.append(reply.json["sentences"][0]["spans"][0]["type"])

    async def swap() -> None:
        while not seen:
            await asyncio.sleep(0.001)
        shutil.copy(other, own)  # in place: the bytes of the old model are gone
        await asyncio.to_thread(client.models.refresh)  # sees that it has changed
        assert client.models.find("place").reloads == 0
        await asyncio.to_thread(client.models.refresh)  # sees that it has not changed again

    async def both() -> None:
        await asyncio.gather(ask(), ask(), swap())

    asyncio.run(both())
    assert set(seen) == {"LOC", "CITY"}
    assert client.get("/models/place").json["reloads"] == 1
    assert client.said == ["sapo: place: loaded the changed file"]


@pytest.mark.parametrize("broken", ["half", "gone"])
def test_a_broken_file_keeps_the_old_model_and_is_told(new_client: Any, own: Path, other: Path, broken: str) -> None:
    client = new_client(own)
    if broken == "half":
        own.write_bytes(other.read_bytes()[:-100])
    else:
        own.unlink()
    for _ in range(3):
        client.models.refresh()
    assert types(client) == ["LOC"]
    (line,) = client.said
    assert line.startswith(f"sapo: {own}: the changed file was not loaded, the old model stays (")
    ready = client.get("/ready")
    assert ready.status == 200
    assert list(ready.json["problems"]) == ["place"]
    assert str(own.parent).encode() not in ready.body
    problem = client.get("/models/place").json["problem"]
    assert problem in line
    assert problem not in ready.body.decode()  # which needs no token
    assert 'sapo_model_failures_total{model="place"} 1' in client.get("/metrics").body.decode()
    shutil.copy(other, own)
    for _ in range(2):
        client.models.refresh()
    assert types(client) == ["CITY"]
    assert client.get("/ready").json["problems"] == {}


def test_what_anyone_may_ask_names_no_other_file(new_client: Any, own: Path, other: Path) -> None:
    client = new_client(own)
    shutil.copy(other, own.parent / "places.sapo")  # which a message would offer instead
    own.unlink()
    client.models.refresh()
    for path in ("/ready", "/models"):
        assert b"places" not in client.get(path).body
    assert client.get("/ready").json["problems"] == {"place": "the changed file was not loaded"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no pipes with names")
@pytest.mark.parametrize("odd", ["pipe", "zero"])
def test_what_is_not_a_regular_file_is_not_read(new_client: Any, own: Path, odd: str) -> None:
    client = new_client(own)
    own.unlink()
    if odd == "pipe":
        os.mkfifo(own)
    else:
        own.symlink_to("/dev/zero")
    for _ in range(2):
        client.models.refresh()
    assert types(client) == ["LOC"]
    assert "not a regular file" in client.said[-1]
    with pytest.raises(SapoError, match=r"place\.sapo: not a regular file"):
        new_client(own)


def test_two_models_of_one_name_are_refused(new_client: Any, own: Path, originals: Path) -> None:
    with pytest.raises(SapoError, match="are both called 'place'; rename one of the files"):
        new_client(own, originals / "place.sapo")


def test_a_missing_or_damaged_model_is_refused(new_client: Any, tmp_path: Path) -> None:
    with pytest.raises(SapoError, match=r"none\.sapo: no such file"):
        new_client(tmp_path / "none.sapo")
    (tmp_path / "text.sapo").write_text("no model" * 100)
    with pytest.raises(SapoError, match=r"text\.sapo: not a sapo model"):
        new_client(tmp_path / "text.sapo")
