"""The names of systems: their groups, their order in tables, and how they are shortened in figures."""

SAPO = "SAPO"
CRF = "CRF"
PERCEPTRON = "Perc-Naive"
ONE_BEST = ("Perc-Naive", "Perc-Avg", "MIRA-Naive", "MIRA-Avg")
N_BEST = ("MIRA-Nbest-Naive", "MIRA-Nbest-Avg")
NEURAL = ("Bi-LSTM", "Bi-LSTM-CRF", "Bi-LSTM-SAPO")
ONE_BY_ONE = tuple(f"{name}-b1" for name in NEURAL)  # one sentence a step, as in the paper
BY_N = {1: "SAPO-n1", 2: "SAPO-n2", 5: SAPO, 10: "SAPO-n10", 20: "SAPO-n20"}
SEARCHES = ("SAPO-astar", "SAPO-beam")

ORDER = (
    *(SAPO, "SAPO-Avg", "SAPO-best", CRF, *ONE_BEST, *N_BEST, *NEURAL, *ONE_BY_ONE),
    *("SAPO-n1", "SAPO-n2", "SAPO-n10", "SAPO-n20", *SEARCHES),
)

SHORT = {
    "MIRA-Nbest-Avg": "MIRA-NA",
    "MIRA-Nbest-Naive": "MIRA-NN",
    "MIRA-Avg": "MIRA-A",
    "MIRA-Naive": "MIRA-N",
    "Perc-Avg": "Perc-A",
    "Perc-Naive": "Perc-N",
}


def rank(system: str) -> tuple[int, str]:
    """Return a key for sorting: known systems in the paper's order, then the others by name.

    >>> sorted(["Other", "CRF", "SAPO"], key=rank)
    ['SAPO', 'CRF', 'Other']
    """
    return (ORDER.index(system) if system in ORDER else len(ORDER), system)
