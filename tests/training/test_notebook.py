"""The bar of a notebook, with a stand-in for IPython that keeps every picture of the cell's output."""

import re
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import sapo
from sapo.learn import Settings
from sapo.sklearn.crf import CRF
from sapo.sklearn.labeler import SequenceLabeler
from sapo.training import notebook
from sapo.training.notebook import Notebook, in_notebook
from sapo.training.showing import shown

DATA = [(["no", "rain"], ["DT", "NN"])]
Pictures = list[dict[str, str]]


@pytest.fixture
def pictures(monkeypatch: pytest.MonkeyPatch) -> Pictures:
    """The pictures of one output, in the order in which they replaced each other."""
    found: Pictures = []

    def display(forms: dict[str, str], *, raw: bool, display_id: bool) -> Any:
        assert raw
        assert display_id
        assert not found, "a second output"
        found.append(forms)
        return SimpleNamespace(update=lambda forms, raw: found.append(forms))

    modules = {"IPython": ModuleType("IPython"), "IPython.display": ModuleType("IPython.display")}
    vars(modules["IPython"])["get_ipython"] = lambda: SimpleNamespace(kernel=None)
    vars(modules["IPython.display"])["display"] = display
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(notebook, "OFTEN", 0.0)
    return found


def test_a_bar_moves_and_goes(pictures: Pictures, capsys: pytest.CaptureFixture[str]) -> None:
    sapo.train(DATA, dev=DATA, template="pos", epochs=3, verbose=True)
    assert capsys.readouterr() == ("", "")
    html = [picture["text/html"] for picture in pictures]
    bar = '<progress value="([^"]*)" max="1"></progress> epoch'  # not that of compiling, which depends on the cache
    values = [float(value) for page in html for value in re.findall(bar, page)]
    assert len(values) >= 3
    assert values[-1] == 1.0
    assert any(re.search(r"</progress> epoch 3/3, dev accuracy 100\.00, \d+ s left", page) for page in html)
    assert "<progress" not in html[-1]
    for part in ("1 sentences, 2 tokens", "epoch  3/3  objective", "all 3 epochs done; kept epoch"):
        assert part in html[-1]
        assert part in pictures[-1]["text/plain"]


def test_the_bar_counts_what_is_compiled(pictures: Pictures) -> None:
    with shown(Settings()) as show:
        assert isinstance(show, Notebook)
        show.compiling(1, 4)
        show.compiling(4, 4)
    text = "compiling for the first time: 1 of 4"
    assert pictures == [
        {
            "text/html": f'<div><progress value="0.250" max="1"></progress> {text}</div>',
            "text/plain": f"[#####---------------] {text}",
        },
        {"text/html": "<div></div>", "text/plain": ""},
    ]


def test_the_bar_goes_when_training_fails(pictures: Pictures) -> None:
    def fail() -> None:
        with shown(Settings(epochs=2)) as show, show.running("F1", 10):
            show.samples(1, 1, 2)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert "<progress" in pictures[0]["text/html"]
    assert "<progress" not in pictures[-1]["text/html"]


def test_messages_are_not_markup(pictures: Pictures) -> None:
    Notebook(Settings()).say("<b>\x1b[2J")
    assert pictures[-1]["text/html"] == "<pre>&lt;b&gt;\\u001b[2J</pre><div></div>"


def test_the_bar_is_not_drawn_for_every_step(pictures: Pictures, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebook, "OFTEN", 3600.0)
    bar = Notebook(Settings())
    for done in range(100):
        bar.compiling(done, 100)
    assert len(pictures) == 1


def test_estimators_show_the_bar(pictures: Pictures, capsys: pytest.CaptureFixture[str]) -> None:
    words, tags = [["no", "rain"]], [["DT", "NN"]]
    SequenceLabeler(template="pos", epochs=2, verbose=True).fit(words, tags)
    assert "epoch 2/2" in pictures[-3]["text/html"]
    pictures.clear()
    assert capsys.readouterr().out == ""
    CRF(algorithm="ap", max_iterations=2, verbose=True).fit([[{"w": "no"}, {"w": "rain"}]], tags)
    assert any("<progress" in picture["text/html"] for picture in pictures)
    assert pictures[-1]["text/plain"] == ""  # its lines are those of sklearn-crfsuite, on standard output
    assert capsys.readouterr().out.startswith("Iter 1")


def test_a_script_and_ipython_in_a_terminal_have_no_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert not in_notebook()
    terminal = ModuleType("IPython")
    monkeypatch.setitem(sys.modules, "IPython", terminal)
    for shell in (None, object()):
        vars(terminal)["get_ipython"] = lambda shell=shell: shell
        assert not in_notebook()
