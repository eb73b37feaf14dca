"""`sapo export` writes a page that tags as Python does, in Chromium, and asks for nothing."""

from pathlib import Path

import pytest
from click.testing import CliRunner

import sapo
from browser import FLAGS, find_browser
from golden_models import HERE
from sapo.cli.export import tagging_page
from sapo.cli.main import app
from sapo.tagger.file import model_bytes

PAIRS = [(["in", "Oslo", "."], ["O", "B-LOC", "O"]), (["Lee", "is", "at", "home", "."], ["B-PER", "O", "O", "O", "O"])]
TEXT = "Lee is in Oslo. <b> & {{text}} 🦊 Oslo."


@pytest.fixture(scope="module")
def tagger() -> sapo.Tagger:
    return sapo.train(PAIRS, template="ner", epochs=5)


def test_the_page_tags_in_a_browser_as_python_does(tagger: sapo.Tagger, tmp_path: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    if find_browser() is None:
        pytest.skip("Chromium is not installed")
    tagger.save(tmp_path / "m.sapo")
    page_path = tmp_path / "page.html"
    command = ["export", str(tmp_path / "m.sapo"), "--html", str(page_path), "--text", TEXT]
    assert CliRunner().invoke(app, command).exit_code == 0
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=find_browser(), args=FLAGS)
        page = browser.new_page()
        asked: list[str] = []
        faults: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(page_path.as_uri())
        page.check("#probabilities")
        shown = page.locator("#tagged mark").all_inner_texts()
        script = "text => Sapo.load(Uint8Array.from(atob(document.getElementById('model').textContent), "
        script += "c => c.charCodeAt(0)).buffer).tagText(text, {probabilities: true}).sentences.map(s => s.spans)"
        found = [span for spans in page.evaluate(script, TEXT) for span in spans]
        page.fill("#text", "")
        page.wait_for_function("document.querySelectorAll('#tagged mark').length === 0")
        browser.close()
    known = tagger.tag_text(TEXT, probabilities=True).spans
    assert [(span["text"], span["type"]) for span in found] == [(span.text, span.type) for span in known]
    assert [span["probability"] for span in found] == pytest.approx([span.probability for span in known], abs=1e-5)
    assert shown == [f"{span.text}{span.type} {span.probability:.2f}" for span in known]
    assert known
    assert asked == [page_path.as_uri()]
    assert not faults


def test_the_page_refers_to_nothing_outside(tagger: sapo.Tagger) -> None:
    page = tagging_page(model_bytes(tagger.model), "<m>", "</textarea>")
    assert "<title>Tag text: &lt;m&gt;</title>" in page
    assert page.count("</textarea>") == 1
    assert not any(word in page for word in (' src="', ' href="', "@import", "fetch("))


@pytest.mark.parametrize(
    ("name", "why"),
    [("features-2", "of kind 'features'"), ("templates-2", "also needs pos")],
)
def test_export_refuses_a_model_that_a_page_cannot_use(name: str, why: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = CliRunner().invoke(app, ["export", str(HERE / f"{name}.sapo"), "--html", str(page)])
    assert why in str(result.exception)
    assert not page.exists()


def test_export_refuses_vectors(tmp_path: Path) -> None:
    (tmp_path / "vectors.txt").write_text("oslo 1 0\nlee 0 1\n")
    sapo.train(PAIRS, template="ner", epochs=1, vectors=tmp_path / "vectors.txt").save(tmp_path / "m.sapo")
    result = CliRunner().invoke(app, ["export", str(tmp_path / "m.sapo"), "--html", str(tmp_path / "page.html")])
    assert "a page cannot use vectors" in str(result.exception)


def test_export_needs_to_know_what_to_write(tmp_path: Path) -> None:
    assert "--html page.html" in str(CliRunner().invoke(app, ["export", "m.sapo"]).exception)
