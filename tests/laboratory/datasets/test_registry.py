"""What comes from a source becomes the text that is kept."""

import gzip
import hashlib
import io
import tarfile
import zipfile
from functools import partial
from pathlib import Path

import pytest

from laboratory.datasets import registry
from laboratory.datasets.registry import CORPORA
from laboratory.datasets.treebank import tree_sentences
from sapo.errors import SapoError


def zipped(files: dict[str, str]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return stream.getvalue()


def tarred(files: dict[str, str]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return stream.getvalue()


def test_a_file_of_a_zip_archive_is_found_by_its_name() -> None:
    data = zipped({"conll2000/README": "no", "conll2000/train.txt": "a DT B-NP\n"})
    assert registry.zip_member(data, name="conll2000/train.txt") == b"a DT B-NP\n"


def test_a_file_of_a_tar_archive_is_found_in_any_folder() -> None:
    data = tarred({"readme": "no", "Genia4ERtraining/Genia4ERtask1.iob2": "###MEDLINE:1\n\na\tO\n\n"})
    assert registry.bionlp_train(data) == b"a\tO\n\n"


@pytest.mark.parametrize(
    ("convert", "data"),
    [
        (partial(registry.zip_member, name="train.txt"), b"<html>not found</html>"),
        (partial(registry.zip_member, name="train.txt"), zipped({"test.txt": ""})),
        (partial(registry.zip_member, name="train.txt"), zipped({"train.txt": "a DT\n" * 99})[:200]),
        (partial(registry.tar_member, name="train.txt"), b"<html>not found</html>"),
        (partial(registry.tar_member, name="train.txt"), tarred({"test.txt": ""})),
        (partial(registry.tar_member, name="train.txt"), tarred({"train.txt": "a DT\n" * 99})[:-20]),
        (partial(registry.tar_member, name="train.txt"), gzip.compress(b"no archive")),
        (partial(registry.treebank_sample, first=1, last=1), zipped({"treebank/combined/wsj_0001.mrg": "((S (A a)"})),
    ],
    ids=[
        "no zip",
        "other zip",
        "cut zip",
        "no tar",
        "other tar",
        "cut tar",
        "no tar inside",
        "broken tree",
    ],  # not bytes
)
def test_a_broken_or_foreign_archive_is_told(convert: partial[bytes], data: bytes) -> None:
    with pytest.raises(SapoError, match=r"archive|tree"):
        convert(data)


def test_an_archive_that_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "LIMIT", 1 << 20)
    much = {"train.txt": "a" * (2 << 20)}
    with pytest.raises(SapoError, match=r"larger than 1 MB"):
        registry.zip_member(zipped(much), name="train.txt")
    with pytest.raises(SapoError, match=r"larger than 1 MB"):
        registry.tar_member(tarred(much), name="train.txt")


def test_trees_become_words_and_tags_in_the_order_of_the_files() -> None:
    files = {
        "treebank/combined/wsj_0001.mrg": "\n( (S \n (NP-SBJ (NNP Ann) )\n (, ,) (VP (VBZ naps)\n (-NONE- *-1) )))\n",
        "treebank/combined/wsj_0002.mrg": "( (X (-LRB- -LRB-) (CD 3\\/4) (. .) ))\n( (S (NN b) ))",
        "treebank/combined/wsj_0003.mrg": "( (S (NN never) ))",
    }
    kept = b"Ann\tNNP\n,\t,\nnaps\tVBZ\n\n-LRB-\t-LRB-\n3\\/4\tCD\n.\t.\n\nb\tNN\n\n"
    assert registry.treebank_sample(zipped(files), first=1, last=2) == kept


@pytest.mark.parametrize("text", ["( (S (A a) )", "(S (A a) ))"])
def test_a_tree_with_wrong_brackets_is_an_error(text: str) -> None:
    with pytest.raises(SapoError, match=r"tree"):
        list(tree_sentences(text))


def test_what_is_converted_already_stays_as_it_is(corpora: Path) -> None:
    text = gzip.decompress((corpora / "jnlpba" / "test.txt.gz").read_bytes())
    assert registry.without_abstract_lines(text) == text
    text = gzip.decompress((corpora / "ud-ewt" / "dev.conllu.gz").read_bytes())
    assert registry.bare_conllu(text) == text


def test_comments_and_misc_that_are_put_back_are_taken_out_again(corpora: Path) -> None:
    text = gzip.decompress((corpora / "ud-ewt" / "dev.conllu.gz").read_bytes())
    source = text.replace(b"\t_\n", b"\tSpaceAfter=No|CorrectForm=_\n").replace(b"# text", b"# newpar id = p1\n# text")
    assert source != text
    assert registry.bare_conllu(b"# newdoc id = d1\n" + source) == text


def test_the_known_checksums_are_those_of_the_real_corpora(corpora: Path) -> None:
    checked = 0
    for corpus in CORPORA.values():
        for file in (*corpus.files, *corpus.extra):
            path = corpora / corpus.name / file.name
            if file.sha256 is not None:
                data = path.read_bytes()
                text = gzip.decompress(data) if path.suffix == ".gz" else data
                assert hashlib.sha256(text).hexdigest() == file.sha256, path
                checked += 1
    assert checked == 13
