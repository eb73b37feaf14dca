"""What `sapo warm-up` and a rehearsal do: jobs that call the kernels as users' jobs do."""

import json
import os
import subprocess
import sys
from pathlib import Path

import sapo
from sapo import jit

# Interpreted, which takes seconds: the kernels that are called from outside, with the types of their arguments.
RECORD = """
import json, sys
from sapo import jit
from sapo.jit.progress import name_of
{imports}
found = jit.record(lambda: {job})
json.dump([(name_of(function), str(types)) for function, types in found], sys.stdout)
"""
REAL = """
words = [("the", "DT"), ("old", "JJ"), ("cat", "NN"), ("sleeps", "VBZ"), ("in", "IN"), ("Oslo", "NNP"), (".", ".")]
sentences = [(words, ["B-NP", "I-NP", "I-NP", "B-VP", "B-PP", "B-NP", "O"])] * 30
dev = [(words[:3], ["B-NP", "I-NP", "I-NP"])]
def use():
    tagger = sapo.train(sentences, dev=dev, template="chunking-best", epochs=9)
    tagger.nbest(words, 3)
import sapo
"""


def record(job: str, imports: str) -> list[tuple[str, str]]:
    env = {**os.environ, "PYTHONPATH": str(Path(sapo.__file__).parent.parent)}
    code = RECORD.format(job=job, imports=imports)
    done = subprocess.run([sys.executable, "-c", code], env=env, check=True, stdout=subprocess.PIPE, text=True)
    return [(name, types) for name, types in json.loads(done.stdout)]


def test_warming_up_calls_what_training_and_tagging_call() -> None:
    called = {name for name, _ in record("warm_up()", "from sapo.training.warm_up import warm_up")}
    learners = {
        "learn.mira.mira_samples",
        "learn.sapo.sapo_samples",
        "learn.crf.crf_samples",
        "learn.perceptron.perceptron_samples",
    }
    searches = {
        "search.topn.find_top_n",
        "search.astar.astar_next",
        "search.beam.beam_n",
        "search.decoding.tag_sentences",
    }
    clusters = {"features.clustering.exchange_words", "features.clustering.merge_classes"}
    assert {*jit.TRAINING, *learners, *searches, *clusters, "corpus.scanner.scan_lines"} <= called


def test_a_rehearsal_calls_what_a_run_calls_with_arguments_of_the_same_types() -> None:
    rehearsed = record("rehearse({})", "from sapo.training.warm_up import rehearse")
    names = [name for name, _ in rehearsed]
    assert names[0] == "corpus.scanner.scan_lines"
    assert set(jit.TRAINING) - set(names) == {"features.hashing.rehash_strings"}  # which needs more words
    real = record("use()", REAL)
    assert "learn.sapo.sapo_samples" in {name for name, _ in real}
    assert set(real) - set(rehearsed) <= {pair for pair in real if pair[0] == "features.hashing.rehash_strings"}
