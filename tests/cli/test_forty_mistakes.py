"""Mistakes that users make: each is one line on standard error and exit code 2, and no file is made or changed."""

import shlex
from pathlib import Path
from typing import Any

import pytest

from answers import answer

ROWS = "The DT B-NP\ncat NN I-NP\nsleeps VBZ B-VP\n\nIt PRP B-NP\nrains VBZ B-VP\n\n"
FILES = {
    "s.txt": ROWS * 3,
    "words.txt": "The\ncat\n\n",
    "text.txt": "The cat sleeps. It rains all day, and nobody minds it very much.\n",
    "empty.txt": "",
    "one.txt": "a B-X\nb O\n",
    "j.jsonl": '{"tokens": ["a"], "tags": ["X"]}\n',
    "bad.jsonl": '{"tokens": ["a"], "tags": "X"}\n',
}


@pytest.fixture(scope="module")
def room(house: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with files to be mistaken about, and the model m.sapo, which needs word and pos."""
    path = tmp_path_factory.mktemp("mistakes")
    for name, text in FILES.items():
        (path / name).write_text(text)
    (path / "m.sapo").write_bytes(house.model.read_bytes())
    (path / "short.sapo").write_bytes(house.model.read_bytes()[:5000])
    (path / "dir").mkdir()
    return path


MISTAKES = [
    # train
    ("train -q s.txt one.txt -o x", "got unexpected extra argument (one.txt)"),
    ("train -q s.txt -o dir", "dir: is a directory"),
    ("train -q s.txt -o nowhere/x", "there is no directory nowhere"),
    ("train -q s.txt --dev missing.txt -o x", "missing.txt: no such file"),
    ("train -q s.txt --dev empty.txt -o x", "empty.txt: has no sentences"),
    ("train -q s.txt -o x --columns word,pos", "has 3 columns; --columns names 2: word, pos"),
    ("train -q s.txt -o x --label nerr", "the columns are word, pos, chunk"),
    ("train -q s.txt -o x --new-labels", "--new-labels is for --continue"),
    ("train -q s.txt -o x --continue short.sapo", "short.sapo: not a sapo model"),
    ("train -q m.sapo -o x", "is a model of sapo"),
    ("train -q s.txt -o x --format text", "text has no labels"),
    ("train -q s.txt -o x --encoding utf8x", "unknown encoding 'utf8x'; did you mean 'utf-8'?"),
    ("train -q s.txt -o x --set hidden=50", "--set hidden: only for the neural learners"),
    ("train -q s.txt -o x --set regularizer=elastic", "--set regularizer must be one of l2, l1, none"),
    ("train -q s.txt -o x --rate fast", "--rate must be a finite number, more than 0, not fast"),
    ("train -q s.txt -o x --class-weight B-NP:2", "--class-weight must be"),
    ("train -q s.txt -o x --epochs 1.5", "--epochs must be a whole number, at least 1, not 1.5"),
    ("train -q s.txt -o x --set average=50", "--set average must be a number from 0 to 1"),
    ("train -q s.txt -o x --template features.tpl", "no template 'features.tpl'"),
    ("train -q bad.jsonl -o x", "'tags' must be a list of strings"),
    ("train -q s.txt -o x --threads 0", "--threads must be at least 1, not 0"),
    ("train -q s.txt -o x --set dcay=0.8", "--set: unknown setting 'dcay'; did you mean 'decay'?"),
    ("train -q s.txt -o x --set decay", "--set must be NAME=VALUE, as decay=0.8, not 'decay'"),
    ("train -q s.txt -o x --rate 0.1 --set rate=0.2", "--rate is given twice; give it once"),
    ("train -q s.txt -o x --set exact=maybe", "--set exact must be true or false, not maybe"),
    ("train -q s.txt -o x --set constraints=3", "--set constraints must be true or false, not 3"),
    # tag
    ("tag s.txt", "s.txt: not a sapo model"),
    ("tag short.sapo s.txt", "short.sapo: not a sapo model"),
    ("tag m.sapo words.txt", "has no column 'pos', which the features need"),
    ("tag m.sapo text.txt", "text.txt"),
    ("tag m.sapo j.jsonl", "has no column 'pos'"),
    ("tag m.sapo s.txt -o nowhere/out.txt", "nowhere/out.txt: cannot be written"),
    ("tag m.sapo s.txt --bias NP=1", "the model has no label 'NP'"),
    ("tag m.sapo s.txt --bias B-NP", "--bias must be LABEL=NUMBER"),
    ("tag m.sapo s.txt --spans --marginals", "are different outputs; choose one"),
    ("tag m.sapo s.txt --nbest many", "'many' is not a valid integer"),
    ("tag m.sapo s.txt --search viterbi", "unknown search 'viterbi'; known: topn, astar, beam"),
    ("tag m.sapo s.txt --forced gold", "there is no column 'gold'"),
    ("tag m.sapo s.txt m.sapo", "got unexpected extra argument"),
    # eval
    ("eval m.sapo one.txt", "one.txt: has 2 columns; the model was trained on 3: word, pos, label"),
    ("eval one.txt", "sapo eval MODEL FILE"),
    ("eval m.sapo s.txt --plot curve.svg", "--plot draws what"),
    ("eval m.sapo s.txt --nbest 3", "--nbest is for --calibration"),
    ("eval m.sapo s.txt --predicted 2", "--predicted is for a tagged file"),
    ("eval s.txt --curve", "--curve needs a model"),
    # errors
    ("errors m.sapo", "missing argument 'INPUT'"),
    ("errors m.sapo s.txt --top all", "'all' is not a valid integer;"),
    ("errors m.sapo s.txt --html s.txt", "--html would overwrite the input"),
    ("errors m.sapo one.txt", "one.txt"),
    # split, demo
    ("convert s.txt --split 80,10,10", "--split writes files; name their directory"),
    ("convert s.txt parts --split 80", "--split must be two or three positive numbers"),
    ("convert s.txt parts --split 80,20 --by page", "'page' is not one of 'sentence', 'document'"),
    ("convert one.txt parts --split 8,1,1", "cannot be split into 3 parts"),
    ("convert s.txt s.txt --split 8,2", "s.txt: cannot create this directory"),
    ("demo s.txt", "s.txt: cannot create this directory"),
    ("demo dir more", "got unexpected extra argument (more)"),
    # check, convert
    ("check missing.txt", "missing.txt: no such file"),
    ("check s.txt --fix s.txt", "--fix would overwrite the input s.txt"),
    ("check s.txt one.txt --fix out.txt", "--fix corrects one file at a time"),
    ("check s.txt --label tagg", "there is no column 'tagg'"),
    ("convert s.txt out.txt --to conll2003", "unknown format 'conll2003'"),
    ("convert s.txt out.txt --keep lemma", "the columns are word, pos"),
    ("convert s.txt out.txt --text", "--text writes JSONL"),
    ("convert s.txt out.conllu --into ner", "a label cannot go into 'ner' of CoNLL-U"),
    ("convert one.txt out.txt --from conllu", "expected 10 columns"),
    # compare, calibrate, prune
    ("compare m.sapo s.txt", "needs the tags of at least two systems"),
    ("compare m.sapo missing.sapo s.txt", "missing.sapo: no such file"),
    ("compare one.txt s.txt s.txt", "both must have the same sentences"),
    ("calibrate m.sapo", "missing argument 'DEV'"),
    ("calibrate m.sapo empty.txt", "the data has no tokens"),
    ("calibrate m.sapo s.txt --by span", "'span' is not one of 'spans', 'tokens', 'sentences'"),
    ("prune m.sapo", "--below X, --to SIZE or --half"),
    ("prune m.sapo --to 500", "must be a size in kB, MB or GB"),
    ("prune m.sapo --below -1", "--below must be a number, 0 or more"),
    ("prune m.sapo --to 1MB --below 1", "give one of them"),
    # explain, inspect
    ("explain m.sapo The/DT", "missing option '--token'"),
    ("explain m.sapo The --token 1", "join the columns by slashes"),
    ("explain m.sapo The/DT --token 2", "the sentence has the tokens 1 to 1"),
    ("explain m.sapo The/DT --token 1 --tag B-PN", "did you mean 'B-NP'?"),
    ("explain m.sapo --file s.txt --sentence 99 --token 1", "there is no sentence 99"),
    ("explain m.sapo The/DT --token 1 --encoding latin-1", "--encoding is for --file"),
    ("inspect s.txt", "s.txt: not a sapo model"),
    ("inspect m.sapo --label NP", "the model has no label 'NP'"),
    ("inspect m.sapo m.sapo", "got unexpected extra argument"),
    # pipeline
    ("pipeline s.txt", "missing option '--add'"),
    ("pipeline s.txt --add m.sapo", "a step is column=model.sapo"),
    ("pipeline s.txt --add pos=m.sapo", "already has a column 'pos'"),
    ("pipeline s.txt --add new=m.sapo --cross 3", "cross is for steps that are trained"),
    ("pipeline s.txt --add new=m.sapo --epochs 0", "epochs must be at least 1"),
    ("pipeline s.txt --add new=m.sapo --template pos", "as in pos=NAME, not 'pos'"),
    # the rest
    ("train-model s.txt", "no such command 'train-model'; did you mean 'train'?"),
    ("--verbose train s.txt", "no such option --verbose"),
]


def contents(room: Path) -> dict[str, bytes | None]:
    return {path.name: path.read_bytes() if path.is_file() else None for path in sorted(room.rglob("*"))}


@pytest.mark.parametrize(("command", "part"), MISTAKES)
def test_a_mistake_is_one_line(room: Path, monkeypatch: pytest.MonkeyPatch, command: str, part: str) -> None:
    monkeypatch.chdir(room)
    before = contents(room)
    done = answer(*shlex.split(command))
    assert done.code == 2, done
    assert len(done.errors) == 1, done
    assert done.errors[0].startswith("sapo")
    assert part in done.errors[0]
    assert done.out == ""
    assert contents(room) == before
