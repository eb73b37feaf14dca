"""Corpora are fetched as a whole and checked, or not at all."""

import gzip
import hashlib
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from laboratory.datasets.fetching import fetch
from laboratory.datasets.registry import CORPORA, Corpus, Source, find_corpus
from sapo.corpus.formats import read
from sapo.errors import SapoError

Corpora = dict[str, Corpus]


def files(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.rglob("*") if path.is_file())


def test_a_corpus_is_fetched_zipped_and_can_be_read(web: Any, tiny: Corpora, home: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    directory = fetch("tiny", corpora=tiny, progress=lambda *step: seen.append(step))
    assert directory == home / "tiny" == find_corpus("tiny", corpora=tiny)
    assert files(home) == ["test.txt.gz", "train.txt.gz"]
    assert gzip.decompress((directory / "train.txt.gz").read_bytes()) == web.pages["/train.txt"]
    assert [sentence.tags for sentence in read(directory / "test.txt.gz")] == [("DT", "NN")]
    size = len(web.pages["/train.txt"])
    assert (f"{web.url}/train.txt", size, size) in seen


def test_the_second_time_nobody_is_asked(web: Any, tiny: Corpora, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = fetch("tiny", corpora=tiny)
    web.pages.clear()
    monkeypatch.setitem(sys.modules, "pooch", None)  # not even the means to ask are needed
    assert fetch("tiny", corpora=tiny) == first
    assert web.asked == ["/train.txt", "/test.txt"]


def test_only_what_is_missing_or_damaged_is_fetched_again(web: Any, tiny: Corpora, home: Path) -> None:
    directory = fetch("tiny", corpora=tiny)
    whole = (directory / "train.txt.gz").read_bytes()
    for damaged in (whole[:-9], gzip.compress(b"other DT\n\n"), None):
        if damaged is None:
            (directory / "train.txt.gz").unlink()
        else:
            (directory / "train.txt.gz").write_bytes(damaged)
        web.asked.clear()
        fetch("tiny", corpora=tiny)
        assert web.asked == ["/train.txt"]
        assert (directory / "train.txt.gz").read_bytes() == whole


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda web: web.pages.update({"/train.txt": b"changed"}), r"wrong checksum, its sha256 is [0-9a-f]{64} and"),
        (lambda web: web.pages.pop("/train.txt"), r"HTTP 404 Not Found"),
        (lambda web: web.status.update({"/train.txt": 500}), r"HTTP 500 Internal Server Error"),
        (lambda web: web.cut_after.update({"/train.txt": 70}), r"the connection was cut after \d+ bytes"),
    ],
)
def test_what_goes_wrong_is_told_in_a_line_and_leaves_nothing(
    web: Any, tiny: Corpora, home: Path, spoil: Any, told: str
) -> None:
    spoil(web)
    with pytest.raises(SapoError, match=told) as caught:
        fetch("tiny", corpora=tiny)
    assert re.match(rf"tiny/train.txt.gz: not fetched; {web.url}/train.txt: ", str(caught.value))
    assert "\n" not in str(caught.value)
    assert list(home.iterdir()) == []
    assert find_corpus("tiny", corpora=tiny) is None


def test_a_short_body_without_a_length_fails_its_checksum(web: Any, tiny: Corpora, home: Path) -> None:
    web.announce = False
    web.cut_after["/train.txt"] = 70
    with pytest.raises(SapoError, match=r"wrong checksum"):
        fetch("tiny", corpora=tiny)
    assert files(home) == []


def test_a_failure_in_the_second_file_keeps_the_first_but_is_no_corpus(web: Any, tiny: Corpora, home: Path) -> None:
    page = web.pages.pop("/test.txt")
    with pytest.raises(SapoError, match=r"tiny/test.txt.gz: not fetched"):
        fetch("tiny", corpora=tiny)
    assert files(home) == ["train.txt.gz"]
    assert find_corpus("tiny", corpora=tiny) is None
    web.pages["/test.txt"] = page
    web.asked.clear()
    assert fetch("tiny", corpora=tiny) == find_corpus("tiny", corpora=tiny)
    assert web.asked == ["/test.txt"]


@pytest.mark.parametrize("announce", [True, False])
def test_too_much_is_refused(web: Any, tiny: Corpora, home: Path, announce: bool) -> None:
    web.announce = announce
    with pytest.raises(SapoError, match=r"more than 1,000 bytes; refused"):
        fetch("tiny", corpora=tiny, limit=1000)
    assert files(home) == []


def test_no_network_is_told(web: Any, tiny: Corpora, home: Path) -> None:
    train, test = tiny["tiny"].files
    for url in ("http://127.0.0.1:1/train.txt", "http://no-such-host.invalid/train.txt", "nothing://train.txt"):
        away = {"tiny": replace(tiny["tiny"], files=(replace(train, sources=(Source(url),)), test))}
        with pytest.raises(SapoError, match=rf"{url}: (no connection|cannot be asked for) \(.+\)$"):
            fetch("tiny", corpora=away)
    assert files(home) == []


def test_the_next_source_is_asked_when_one_fails(web: Any, tiny: Corpora, home: Path) -> None:
    train, test = tiny["tiny"].files
    web.pages["/old.txt"] = b"another text"
    sources = (Source(f"{web.url}/gone.txt"), Source(f"{web.url}/old.txt"), *train.sources)
    fetch("tiny", corpora={"tiny": replace(tiny["tiny"], files=(replace(train, sources=sources), test))})
    assert web.asked == ["/gone.txt", "/old.txt", "/train.txt", "/test.txt"]
    assert files(home) == ["test.txt.gz", "train.txt.gz"]


def test_two_files_of_one_archive_are_fetched_once(web: Any, tiny: Corpora, home: Path) -> None:
    def part(text: bytes) -> str:
        return hashlib.sha256(text).hexdigest()

    train, test = tiny["tiny"].files
    url, page = f"{web.url}/test.txt", web.pages["/test.txt"]
    both = (
        replace(train, sha256=part(page[:5]), sources=(Source(url, lambda data: data[:5]),)),
        replace(test, sha256=part(page[5:]), sources=(Source(url, lambda data: data[5:]),)),
    )
    fetch("tiny", corpora={"tiny": replace(tiny["tiny"], files=both)})
    assert web.asked == ["/test.txt"]


def test_a_cache_that_cannot_be_made_is_told_before_anything_is_asked(web: Any, tiny: Corpora, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(SapoError, match=r"cannot be made \(Not a directory\); set XDG_CACHE_HOME"):
        fetch("tiny", corpora=tiny, cache=tmp_path / "file" / "corpora")
    assert web.asked == []


def test_a_full_disk_is_told_and_leaves_no_half_file(web: Any, tiny: Corpora, home: Path) -> None:
    resource = pytest.importorskip("resource")
    web.pages["/train.txt"] = text = bytes(range(256)) * 400  # zips badly enough
    train, test = tiny["tiny"].files
    full = {"tiny": replace(tiny["tiny"], files=(replace(train, sha256=hashlib.sha256(text).hexdigest()), test))}
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(SapoError, match=r"train.txt.gz: cannot be written \(File too large\)"):
            fetch("tiny", corpora=full)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(home.iterdir()) == []


def test_a_file_without_a_known_checksum_is_not_fetched_unasked(web: Any, unknown: Corpora, home: Path) -> None:
    with pytest.raises(SapoError, match=r"tiny/train.txt.gz: its checksum is not known here; give its --sha256, or"):
        fetch("tiny", corpora=unknown)
    assert web.asked == []


def test_a_given_checksum_must_be_right(web: Any, unknown: Corpora, home: Path) -> None:
    digest = hashlib.sha256(web.pages["/train.txt"]).hexdigest()
    with pytest.raises(SapoError, match=rf"its sha256 is {digest}, which is not what you gave"):
        fetch("tiny", corpora=unknown, accept=["0" * 64])
    assert files(home) == []
    fetch("tiny", corpora=unknown, accept=[digest.upper()])
    assert (home / "tiny" / "train.txt.gz.sha256").read_text() == f"{digest}  train.txt\n"


def test_what_was_trusted_once_holds_from_then_on(web: Any, unknown: Corpora, home: Path) -> None:
    directory = fetch("tiny", corpora=unknown, trust=True)
    assert files(home) == ["test.txt.gz", "train.txt.gz", "train.txt.gz.sha256"]
    (directory / "train.txt.gz").unlink()
    web.pages["/train.txt"], first = b"changed", web.pages["/train.txt"]
    with pytest.raises(SapoError, match=r"wrong checksum.* remove .*train.txt.gz.sha256 if the new one is right"):
        fetch("tiny", corpora=unknown, trust=True)
    web.pages["/train.txt"] = first
    fetch("tiny", corpora=unknown)  # the record is enough
    assert gzip.decompress((directory / "train.txt.gz").read_bytes()) == first


def test_a_trusted_file_that_was_damaged_is_noticed(web: Any, unknown: Corpora, home: Path) -> None:
    directory = fetch("tiny", corpora=unknown, trust=True)
    (directory / "train.txt.gz").write_bytes(gzip.compress(b"other"))
    web.asked.clear()
    fetch("tiny", corpora=unknown)
    assert web.asked == ["/train.txt"]


def test_what_the_user_has_is_used_as_it_is(
    web: Any, tiny: Corpora, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAPO_DATA", str(tmp_path / "mine"))
    mine = tmp_path / "mine" / "tiny"
    mine.mkdir(parents=True)
    (mine / "train.txt").write_text("my DT\n")  # neither zipped nor the known text
    assert find_corpus("tiny", corpora=tiny) is None  # test.txt is not there yet
    (mine / "test.txt.gz").write_bytes(gzip.compress(b"my DT\n"))
    assert fetch("tiny", corpora=tiny) == mine == find_corpus("tiny", corpora=tiny)
    assert web.asked == []
    assert not home.exists()


def test_a_corpus_that_the_user_has_not_comes_from_the_cache(
    web: Any, tiny: Corpora, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAPO_DATA", str(tmp_path))
    assert fetch("tiny", corpora=tiny) == home / "tiny"


def test_a_wrong_sapo_data_is_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAPO_DATA", "/no/such/place")
    with pytest.raises(SapoError, match=r"SAPO_DATA=/no/such/place: no such directory"):
        find_corpus("conll2000")


def test_the_real_corpora_are_found_as_they_are(corpora: Path) -> None:
    here = [name for name in CORPORA if (corpora / name).is_dir()]
    assert here
    assert [fetch(name) for name in here] == [corpora / name for name in here]


def test_every_corpus_says_what_it_is_and_where_it_comes_from() -> None:
    for name, corpus in CORPORA.items():
        assert corpus.name == name
        assert corpus.license
        assert corpus.citation
        assert corpus.files
        for file in (*corpus.files, *corpus.extra):
            assert file.sha256 is None or re.fullmatch("[0-9a-f]{64}", file.sha256)
            assert all(source.url.startswith(("https://", "http://")) for source in file.sources)
            assert file.sha256 or corpus.by_hand  # without a checksum, there is another way
