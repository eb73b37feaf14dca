"""The command as a process: it suggests, learns, saves what it learned when it ends, and goes on with it."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import sapo
from sapo.cli.main import app

TEXT = "The offices of Acme are closed."
REGION = {"from_name": "label", "type": "labels", "value": {"start": 15, "end": 19, "text": "Acme", "labels": ["ORG"]}}


def ask(address: str, path: str, message: Any) -> Any:
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{address}{path}", json.dumps(message).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as reply:
        return json.load(reply)


def test_what_was_learned_is_in_the_file_after_the_end(
    towns: sapo.Tagger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, learned = tmp_path / "towns.sapo", tmp_path / "learned.sapo"
    towns.save(model)
    before = model.read_bytes()
    command = [
        sys.executable,
        "-m",
        "sapo",
        "serve",
        "--tool",
        "label-studio",
        str(model),
        "-o",
        str(learned),
        "--port",
        "0",
    ]
    environment = {**os.environ, "PYTHONPATH": str(Path(sapo.__file__).parent.parent)}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            for line in process.stderr:
                if found := re.search(r"at (http://127\.0\.0\.1:\d+) for label-studio$", line):
                    break
            else:
                raise AssertionError("it does not listen")
            event = {
                "action": "ANNOTATION_CREATED",
                "task": {"data": {"text": TEXT}},
                "annotation": {"result": [REGION]},
            }
            assert ask(found[1], "/webhook", event)["learned"] == 1
            elsewhere = urllib.request.Request(f"{found[1]}/health", headers={"Host": "evil.example"})
            with pytest.raises(urllib.error.HTTPError, match="403"):
                urllib.request.urlopen(elsewhere, timeout=60)
            (prediction,) = ask(found[1], "/predict", {"tasks": [{"data": {"text": TEXT}}]})["results"]
            assert [one["value"]["labels"] for one in prediction["result"]] == [["ORG"]]
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)
        finally:
            process.kill()
    assert model.read_bytes() == before
    assert [(span.text, span.type) for span in sapo.Tagger.load(learned).tag_text(TEXT).spans] == [("Acme", "ORG")]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["no.sapo", "--tool", "label-studio"], "no.sapo: "),
        (["no.sapo", "--tool", "brat"], "'brat' is not one of 'label-studio', 'inception'"),
        (["no.sapo", "-o", "learned.sapo"], "-o is for --tool: a service does not change its models"),
        (["a.sapo", "b.sapo", "--tool", "inception"], "--tool inception works with one model, not 2"),
        (["no.sapo", "--tool", "label-studio", "-o", "no/where.sapo"], "there is no directory no"),
    ],
)
def test_a_mistake_is_told_in_one_line(arguments: list[str], told: str) -> None:
    result = CliRunner().invoke(app, ["serve", *arguments, "--port", "0"])
    assert result.exit_code != 0
    assert told in result.output + str(result.exception)
