"""Run programs that use CRFsuite, and the tests of its Python packages, with sapo in its place: `make test-clients`.

Installs them into an environment of their own, and runs everything twice: with CRFsuite, and with two modules named
pycrfsuite and sklearn_crfsuite that are those of `sapo.compat`. Not a line of the programs is changed. Then both tag
with all models of CRFsuite that are in these packages and in PyThaiNLP: 100 sentences of attributes that a model knows.
Fails if something that works with CRFsuite does not work with sapo.

    python tools/clients.py models    only the models, in two minutes
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from xml.etree import ElementTree

ENVIRONMENT = Path(os.environ.get("CLIENTS_VENV", ".venv-clients")).absolute()
PYTHON = str(ENVIRONMENT / "bin" / "python")
WITH_TESTS = ["python-crfsuite==0.9.12", "sklearn-crfsuite==0.5.0", "usaddress==0.5.16", "probablepeople==0.5.6"]
WITH_MODELS = ["ingredient-parser-nlp==2.6.0", "pythainlp==5.4.0"]
PACKAGES = [*WITH_TESTS, *WITH_MODELS, "parserator", "pytest", "scikit-learn"]
# Test data that the packages leave out: the same tests run on labeled data that they include.
USADDRESS = {
    "simple_address_patterns": "multi_word_state_addresses",
    "labeled": "labeled",
    "synthetic_osm_data": "us50_messiest_manual_label",  # its own has 16,000 addresses
    "us50_test_tagged": "us50_train_tagged",
}
DATA = {f"measure_performance/test_data/{name}.xml": f"training/{own}.xml" for name, own in USADDRESS.items()}
DATA |= {"tests/test_data_labeled.xml": "name_data/labeled/person_labeled.xml"}
SHIMS = {"pycrfsuite": "sapo.compat.pycrfsuite", "sklearn_crfsuite": "sapo.compat"}
TRAIN = """
import sys, parserator.training, usaddress
data = parserator.training.readTrainingData(["training/labeled.xml"], usaddress.GROUP_LABEL)
parserator.training.trainModel(data, usaddress, sys.argv[1])
"""
PARSE = """
import csv, gzip, pathlib, ingredient_parser
foods = pathlib.Path(ingredient_parser.__file__).parent / "en/data/fdc_ingredients.csv.gz"
for number, row in zip(range(1000), csv.DictReader(gzip.open(foods, "rt", encoding="utf-8"))):
    print(ingredient_parser.parse_ingredient(f"{number % 7 + 1} cups {row['description']}, chopped"))
"""
# Prints a line for each model: attributes; equal taggings of the model, of it saved by sapo, and of it written for
# CRFsuite again; all taggings; the largest difference of a probability; the sizes of both files.
COMPARE = """
import pathlib, random, sys, tempfile, pycrfsuite, sapo
from sapo.tagger.foreign import save_crfsuite
packages = pathlib.Path(pycrfsuite.__file__).parents[1]
models = [path for path in packages.rglob("*") if path.suffix in (".crfsuite", ".model") and path.is_file()]
for path in sorted(path for path in models if path.open("rb").read(4) == b"lCRF"):
    directory, random_ = pathlib.Path(tempfile.mkdtemp()), random.Random(0)
    theirs, rewritten = pycrfsuite.Tagger(), pycrfsuite.Tagger()
    theirs.open(str(path))
    ours = sapo.Tagger.load(path)
    ours.save(directory / "m.sapo")
    save_crfsuite(ours.model, directory / "m.crfsuite")
    rewritten.open(str(directory / "m.crfsuite"))
    taggers, equal, worst = [ours, sapo.Tagger.load(directory / "m.sapo")], [0, 0, 0], 0.0
    names = ours.model.encoder.feature_names(range(ours.model.encoder.features))
    for _ in range(100):
        size = random_.randint(1, 20)
        tokens = [{name: random_.choice([1.0, 1.0, 0.5]) for name in random_.choices(names, k=8)} for _ in range(size)]
        tags = theirs.tag(tokens)
        share, marginal = theirs.probability(tags), [[theirs.marginal(y, t) for y in ours.labels] for t in range(size)]
        for number, tagger in enumerate(taggers):
            equal[number] += tagger.tag(tokens) == tags == tagger.nbest(tokens, 3)[0].tags
            found = [row[y] for row in tagger.marginals(tokens) for y in ours.labels]
            known = [value for row in marginal for value in row]
            pairs = [(tagger.probability(tokens, tags), share), *zip(found, known, strict=True)]
            worst = max(worst, *(abs(one - other) for one, other in pairs))
        equal[2] += rewritten.tag(tokens) == tags
    size = path.stat().st_size
    print(path.name, len(names), *equal, 100, worst, size, (directory / "m.sapo").stat().st_size)
"""


def compare_models(room: Path) -> bool:
    """Tag with the models in the packages; return whether sapo and CRFsuite agree."""
    print(f"{'model':<36}{'attributes':>11}{'equal':>7}{'saved':>7}{'back':>7}{'of':>5}{'worst':>9}{'size':>6}")
    lines = [line.split() for line in Side(room / "models").run(room, "-c", COMPARE).splitlines()]
    for name, *values, worst, before, after in lines:
        counts = "".join(f"{value:>{width}}" for value, width in zip(values, (11, 7, 7, 7, 5), strict=True))
        print(f"{name:<36}{counts}{float(worst):>9.1e}{int(after) / int(before):>6.0%}", flush=True)
    return all({*line[2:5]} == {line[5]} and float(line[6]) <= 1e-6 for line in lines)


def install() -> None:
    if not Path(PYTHON).exists():
        print(f"installing {', '.join(PACKAGES)} into {ENVIRONMENT}")
        installer = Path(__file__).with_name("install.py")
        subprocess.run([sys.executable, installer, ENVIRONMENT, "-e", ".", *PACKAGES], check=True)


def sources(room: Path) -> dict[str, Path]:
    """Return the unpacked source of each package that includes its tests."""
    found = dict[str, Path]()
    for requirement in WITH_TESTS:
        name = requirement.partition("==")[0]
        download = [PYTHON, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", name]
        subprocess.run([*download, "--dest", room / name, requirement], check=True)
        with tarfile.open(next((room / name).glob("*.tar.gz"))) as archive:
            archive.extractall(room / name, filter="data")
        found[name] = root = next(path for path in (room / name).iterdir() if path.is_dir())
        for package in root.glob("*/__init__.py"):  # not what is installed, which has the model or is compiled
            if package.parent.name != "tests":
                shutil.rmtree(package.parent)
        for left_out, included in DATA.items():
            if (root / included).exists():
                (root / left_out).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(root / included, root / left_out)
    return found


class Side:
    """What programs find when they import pycrfsuite: CRFsuite, or sapo by `modules`."""

    def __init__(self, room: Path, *modules: Path) -> None:
        self.room, self.modules = room, list(modules)
        self.room.mkdir()

    def run(self, root: Path, *command: str | Path) -> str:
        """Run Python with these arguments in a directory; return what it prints."""
        path = os.pathsep.join(map(str, self.modules))
        environment = os.environ | {"PYTHONPATH": path, "NLTK_DATA": str(self.room.parent / "nltk")}
        done = subprocess.run([PYTHON, *command], cwd=root, env=environment, text=True, capture_output=True)
        if done.returncode > ("pytest" in command):  # 1 means that tests failed
            sys.exit(f"{' '.join(map(str, command))}:\n{(done.stdout + done.stderr)[-3000:]}")
        return done.stdout

    def passed(self, root: Path) -> set[str]:
        """Return the tests that pass. An expected failure that passes is one of them."""
        report = self.room / "report.xml"
        left_out = ["--ignore", "tests/test_logparser.py"]  # private to python-crfsuite
        self.run(root, "-m", "pytest", "tests", *left_out, "-p", "no:cacheprovider", "--junit-xml", report)
        cases = ElementTree.parse(report).iter("testcase")
        return {f"{case.get('classname')}.{case.get('name')}" for case in cases if len(case) == 0}

    def train_usaddress(self, root: Path) -> None:
        """Use a model of usaddress that is trained on its own data from now on."""
        own = self.room / "usaddress"
        installed = self.run(root, "-c", "import usaddress; print(usaddress.__path__[0])").strip()
        shutil.copytree(installed, own)
        self.modules.append(self.room)
        self.run(root, "-c", TRAIN, own / "usaddr.crfsuite")


def stand_in_for_nltk(directory: Path) -> None:
    """Write a part-of-speech tagger that calls everything a noun: the data of NLTK are not on the package index."""
    name = "averaged_perceptron_tagger_eng"
    (directory / "taggers" / name).mkdir(parents=True)
    for part, text in {"weights": '{"bias": {"NN": 1.0}}', "tagdict": '{"cups": "NNS"}', "classes": '["NN"]'}.items():
        (directory / "taggers" / name / f"{name}.{part}.json").write_text(text)


def equal_parses(first: str, second: str) -> int:
    """Return how many lines are equal, and have the same probabilities up to 1e-5."""
    number = re.compile(r"(?<=confidence=)[0-9.e-]+")
    return sum(
        number.sub("", one) == number.sub("", two)
        and all(abs(float(a) - float(b)) < 1e-5 for a, b in zip(number.findall(one), number.findall(two), strict=True))
        for one, two in zip(first.splitlines(), second.splitlines(), strict=True)
    )


def main() -> None:
    install()
    with tempfile.TemporaryDirectory() as name:
        room = Path(name)
        agree = compare_models(room)
        if sys.argv[1:] == ["models"]:
            sys.exit(None if agree else "sapo does not do what CRFsuite does")
        shims = room / "shims"
        shims.mkdir()
        for module, ours in SHIMS.items():
            (shims / f"{module}.py").write_text(f"import sys\nimport {ours}\nsys.modules[__name__] = {ours}\n")
        crfsuite, sapo = Side(room / "crfsuite"), Side(room / "sapo", shims)
        roots, worse = sources(room), 0
        print(f"{'tests that pass':<40}{'CRFsuite':>10}{'sapo':>10}")
        for package, root in roots.items():
            theirs, ours = crfsuite.passed(root), sapo.passed(root)
            print(f"{package:<40}{len(theirs):>10}{len(ours):>10}", flush=True)
            worse += len(theirs - ours)
            for test in sorted(theirs - ours)[:10]:
                print(f"    fails with sapo only: {test}")
        stand_in_for_nltk(room / "nltk")
        parses = [side.run(room, "-c", PARSE) for side in (crfsuite, sapo)]
        equal, all_parses = equal_parses(*parses), len(parses[0].splitlines())
        print(f"{'ingredient-parser-nlp, equal parses':<40}{all_parses:>10}{equal:>10}", flush=True)
        for side in (crfsuite, sapo):
            side.train_usaddress(roots["usaddress"])
        theirs, ours = (side.passed(roots["usaddress"]) for side in (crfsuite, sapo))
        print(f"{'usaddress, trained on its labeled.xml':<40}{len(theirs):>10}{len(ours):>10}")
    if not agree or worse or equal < all_parses or len(ours) < 0.99 * len(theirs):
        sys.exit("sapo does not do what CRFsuite does")


if __name__ == "__main__":
    main()
