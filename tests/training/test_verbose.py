"""What training prints: nothing, or what `sapo train` prints."""

import logging
import re
import sys

import pytest

import sapo
from sapo.sklearn.crf import CRF
from sapo.sklearn.labeler import SequenceLabeler
from sapo.training.progress import ERASE, Compiling, Lines, erase_counter


def test_training_prints_only_if_asked(capsys: pytest.CaptureFixture[str]) -> None:
    data = [(["no", "rain"], ["DT", "NN"])]
    quiet = sapo.train(data, template="pos", epochs=2)
    assert capsys.readouterr() == ("", "")
    loud = sapo.train(data, template="pos", epochs=2, verbose=True)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "1 sentences, 2 tokens, 2 labels" in printed.err
    assert "epoch  2/2" in printed.err
    assert "all 2 epochs done; kept epoch 2" in printed.err
    assert loud.model.parameters.rows.matrix().tolist() == quiet.model.parameters.rows.matrix().tolist()


def test_estimators_print_to_standard_error_or_like_crfsuite(capsys: pytest.CaptureFixture[str]) -> None:
    words, tags = [["no", "rain"]], [["DT", "NN"]]
    SequenceLabeler(template="pos", epochs=2, verbose=True).fit(words, tags)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "epoch  2/2" in printed.err
    CRF(algorithm="lbfgs", max_iterations=2, verbose=True).fit([[{"w": "no"}, {"w": "rain"}]], tags)
    printed = capsys.readouterr()
    assert printed.out.startswith("Iter 1")
    assert "epoch" not in printed.err


def test_the_total_is_the_number_of_epochs_that_was_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    tagger = sapo.train([(["no", "rain"], ["DT", "NN"])], template="pos", verbose=True)
    epochs = tagger.model.record["settings"]["epochs"]
    assert epochs > 15  # little data is learned longer
    assert f"epoch {epochs}/{epochs}" in capsys.readouterr().err


def test_a_log_has_one_line_about_compiling(capsys: pytest.CaptureFixture[str]) -> None:
    show = Compiling()
    for done in range(4):
        show(done, 3)
    assert capsys.readouterr().err == "sapo: compiling for the first time: 3 functions\n"


def test_a_terminal_shows_how_far_it_is(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    show = Compiling()
    show(1, 3)
    show(3, 3)
    assert capsys.readouterr().err == f"{ERASE}compiling for the first time: 1 of 3\r{ERASE}\r"
    show(3, 4)
    erase_counter()
    erase_counter()  # once is enough
    assert capsys.readouterr().err == f"{ERASE}compiling for the first time: 3 of 4\r{ERASE}"


def steady(line: str) -> str:
    """Return a line without its numbers, since times differ."""
    return re.sub(r"[0-9][0-9.,]*[kM]?", "#", line)


def test_the_logger_has_what_verbose_prints(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    data = [(["no", "rain"], ["DT", "NN"])]
    with caplog.at_level(logging.DEBUG, logger="sapo"):
        sapo.train(data, template="pos", epochs=2)
        logged = [(record.levelname, steady(record.message)) for record in caplog.records]
        assert capsys.readouterr() == ("", "")
        sapo.train(data, template="pos", epochs=2, verbose=True)
    assert [steady(line) for line in capsys.readouterr().err.splitlines()] == [line for _, line in logged]
    assert ("INFO", "sapo: rate # strength # # epochs (chosen automatically)") in logged
    assert [level for level, line in logged if line.startswith("epoch")] == ["DEBUG", "DEBUG"]


def test_a_log_gets_a_line_now_and_then_even_without_details(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = Lines(sapo.Settings())
    lines.detail("soon")
    monkeypatch.setattr("sapo.training.progress.LATE", -1.0)
    lines.detail("late")
    assert capsys.readouterr().err == "late\n"
