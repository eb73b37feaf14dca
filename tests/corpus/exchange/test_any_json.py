"""Whatever a file holds, a reader of annotations either reads it or says in one line what is wrong."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapo.corpus.annotations import Annotation, Placement, number_tags
from sapo.corpus.blocks import LABEL
from sapo.corpus.formats import FORMATS, read_blocks
from sapo.errors import SapoError

KEYS = ["text", "label", "labels", "entities", "tokens", "spans", "answer", "data", "annotations", "result", "value"]
KEYS += ["start", "end", "start_offset", "end_offset", "from_name", "was_cancelled", "predictions", "features", "tags"]
LEAVES = st.sampled_from(["Anna sings.", "accept", "PER", "", "a", None, True, 0, 1, 4, 11, -1, 1.5, 10**20])
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
)
SPANS = st.lists(st.tuples(LEAVES, LEAVES, LEAVES).map(list) | VALUES, max_size=3)
RECORDS = st.fixed_dictionaries(
    {"text": st.just("Anna sings.") | VALUES},
    optional={
        "label": SPANS,
        "spans": SPANS,
        "data": VALUES,
        "annotations": VALUES,
        "tokens": VALUES,
        "entities": SPANS,
    },
)


@pytest.mark.filterwarnings("ignore::sapo.errors.DataWarning")
@pytest.mark.parametrize("tool", ["doccano", "prodigy", "label-studio", "jsonl", "crfsuite"])
@given(records=st.lists(VALUES | RECORDS, max_size=3), labeled=st.booleans())
def test_any_json_is_read_or_refused(
    tool: str, records: list[Any], labeled: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = Path(tmp_path_factory.getbasetemp()) / f"any-{tool}"
    array = json.dumps(records)
    path.write_text(array if tool == "label-studio" else "\n".join(json.dumps(record) for record in records))
    blocks, refused = [], ""
    try:
        blocks = list(read_blocks(path, format=tool, labeled=labeled))
    except SapoError as error:
        refused = str(error)
    assert "\n" not in refused
    for block in blocks:
        assert (LABEL in block.columns) == labeled
        if labeled and tool not in ("jsonl", "crfsuite"):
            labels, tags = number_tags(block.strings(LABEL))
            for name in (tool, "prodigy"):
                list(FORMATS[name].write(block, Annotation(tags, labels, placement=Placement())))
