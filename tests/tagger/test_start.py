"""What tagging one sentence loads: not what it does not use, since a process that tags one sentence mostly loads."""

import json
import subprocess
import sys
from pathlib import Path

MODEL = Path(__file__).parents[1] / "golden/templates-2.sapo"
IN_PYTHON = """
import json, sys, sapo
sapo.Tagger.load(sys.argv[1]).tag([("no", "DT"), ("rain", "NN")])
print(json.dumps(sorted(sys.modules)))
"""
COMMAND = """
import json, sys
from sapo.cli import main
sys.argv[:] = ["sapo", "tag", sys.argv[1], sys.argv[2], "-o", sys.argv[2] + ".out"]
main()
print(json.dumps(sorted(sys.modules)))
"""


def loaded(program: str, *arguments: Path) -> set[str]:
    done = subprocess.run([sys.executable, "-c", program, *map(str, arguments)], capture_output=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_the_first_tag_in_python_loads_little() -> None:
    modules = loaded(IN_PYTHON, MODEL)
    unused = {"click", "numba", "sapo.cli", "sapo.corpus.scanner", "sapo.evaluate", "sapo.learn", "sapo.training"}
    unused |= {"sapo.search.marginals", "sapo.tagger.text", "sapo.text.splitter"}
    assert not modules & unused
    assert "sapo.tagger.tagger" in modules


def test_a_command_loads_no_other_command(tmp_path: Path) -> None:
    sentence = tmp_path / "sentence.txt"
    sentence.write_text("no DT\nrain NN\n")
    modules = loaded(COMMAND, MODEL, sentence)
    assert not modules & {"numba", "rich", "sapo.cli.train", "sapo.cli.teach", "sapo.learn", "sapo.corpus.jsonl"}
    assert "sapo.cli.tag" in modules
    assert (tmp_path / "sentence.txt.out").read_text().startswith("no DT ")
