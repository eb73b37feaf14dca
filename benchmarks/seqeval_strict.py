"""Compare strict evaluation with seqeval, tagging by tagging. Needs `pip install seqeval==1.2.2`."""

import itertools
import random
from dataclasses import replace

import numpy as np
from seqeval.scheme import BILOU, IOB1, IOB2, IOBES, IOE1, IOE2, Tokens

from sapo.tags.recognition import scheme_bans
from sapo.tags.schemes import TABLE, label_kinds
from sapo.tags.spans import read_spans

SCHEMES = {"iob2": IOB2, "iob1": IOB1, "bioes": IOBES, "bilou": BILOU, "ioe1": IOE1, "ioe2": IOE2}
TOKENS, MOST = 4, 4000


def main() -> None:
    """Print a line for each scheme: valid and invalid taggings, and in how many the spans differ."""
    for name, scheme in SCHEMES.items():
        labels = ["O", *(f"{letter}-{kind}" for letter in sorted(TABLE[name].letters) for kind in "XY")]
        kinds, bans = replace(label_kinds(labels), scheme=TABLE[name]), scheme_bans(labels, name)
        taggings = list(itertools.product(range(len(labels)), repeat=TOKENS))
        if len(taggings) > MOST:
            taggings = random.Random(0).sample(taggings, MOST)
        counts = np.zeros((2, 2), int)
        for path in taggings:
            valid = np.all(bans[[len(labels), *path[:-1]], path] == 0) and bans[-1, path[-1]] == 0
            theirs = {(one.start, one.end, one.tag) for one in Tokens([labels[i] for i in path], scheme).entities}
            found = read_spans(kinds, np.array(path, np.int32), np.array([0, TOKENS]), strict=True)
            types = (kinds.type_names[number] for number in found.types)
            ours = set(zip(found.starts.tolist(), found.ends.tolist(), types, strict=True))
            counts[int(not valid)] += (1, int(ours != theirs))
        (valid, other), (invalid, strange) = counts.tolist()
        print(f"{name}: {valid} valid, {other} with other spans; {invalid} invalid, {strange} with other spans")


if __name__ == "__main__":
    main()
