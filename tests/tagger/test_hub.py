"""Models go to the hub and come back; the hub is a directory here, and its refusals are one line."""

from pathlib import Path

import pytest

import sapo
from sapo.errors import ModelError, OptionError
from sapo.tagger import hub
from sapo.tagger.hub import model_card, save_pretrained

huggingface_hub = pytest.importorskip("huggingface_hub")

TAGGER = sapo.train([(["a", "dog"], ["DT", "NN"]), (["the", "cat"], ["DT", "NN"])], template="pos")


def test_a_directory_is_a_repository(tmp_path: Path) -> None:
    save_pretrained(TAGGER, tmp_path / "repository")
    assert sapo.Tagger.from_pretrained(str(tmp_path / "repository")).tag(["the", "dog"]) == ["DT", "NN"]


def test_a_model_is_uploaded_with_its_card_and_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[str, bool]] = []

    def create_repo(name: str, *, private: bool, exist_ok: bool) -> None:
        assert exist_ok
        made.append((name, private))

    def upload_folder(*, repo_id: str, folder_path: str, commit_message: str) -> str:
        for file in Path(folder_path).iterdir():
            (tmp_path / file.name).write_bytes(file.read_bytes())
        return f"https://example.org/{repo_id}"

    def download(name: str, file: str, *, revision: str | None) -> str:
        assert (name, revision) == ("me/pos", "v1")
        return str(tmp_path / file)

    monkeypatch.setattr(huggingface_hub, "create_repo", create_repo)
    monkeypatch.setattr(huggingface_hub, "upload_folder", upload_folder)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    assert TAGGER.push_to_hub("me/pos", private=True) == "https://example.org/me/pos"
    assert made == [("me/pos", True)]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["README.md", "model.sapo"]
    assert sapo.Tagger.from_pretrained("me/pos", revision="v1").tag(["the", "dog"]) == ["DT", "NN"]


def test_a_refusal_of_the_hub_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("no connection\nand more")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", refuse)
    monkeypatch.setattr(huggingface_hub, "create_repo", refuse)
    with pytest.raises(ModelError, match=r"^me/pos: cannot be loaded from the hub \(no connection\)$"):
        sapo.Tagger.from_pretrained("me/pos")
    with pytest.raises(ModelError, match=r"^me/pos: cannot be uploaded to the hub \(no connection\)$"):
        TAGGER.push_to_hub("me/pos")


def test_without_the_extra_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "huggingface_hub", None)
    with pytest.raises(OptionError, match="pip install"):
        hub.load_hub()


def test_the_card_says_what_the_record_has() -> None:
    card = model_card(TAGGER.model, "me/weather")
    for line in ("| labels | DT, NN |", "| template | pos |", "| training sentences | 2 |", "| learner | sapo |"):
        assert line in card
