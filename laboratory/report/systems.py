"""The systems of the paper: in which order they come, how they are called and how they are drawn."""

from dataclasses import dataclass

from sapo.render.plotting import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILLION

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

# A family has one colour, its naive version is
# broken: averaging leaves the weights that are trained as they are, so that the two often lie on one another.


@dataclass(frozen=True, slots=True)
class Style:
    """How a system is drawn, the same in all figures."""

    colour: str
    line: str
    marker: str
    hatch: str = ""


STYLES = {
    SAPO: Style(VERMILLION, "-", "o"),
    CRF: Style(BLUE, "--", "s"),
    "Perc-Naive": Style(ORANGE, ":", "v", "////"),
    "Perc-Avg": Style(ORANGE, "-", "^"),
    "MIRA-Naive": Style(SKY, ":", "D", "////"),
    "MIRA-Avg": Style(SKY, "-", "d"),
    "MIRA-Nbest-Naive": Style(GREEN, ":", "P", "////"),
    "MIRA-Nbest-Avg": Style(GREEN, "-", "X"),
    "Bi-LSTM": Style(PURPLE, "-.", "<"),
    "Bi-LSTM-CRF": Style(BLACK, "--", ">"),
    "Bi-LSTM-SAPO": Style(GREY, "-", "*"),
    "Bi-LSTM-b1": Style(PURPLE, "-.", "<", "////"),
    "Bi-LSTM-CRF-b1": Style(BLACK, "--", ">", "////"),
    "Bi-LSTM-SAPO-b1": Style(GREY, "-", "*", "////"),
}


def rank(system: str) -> tuple[int, str]:
    """For sorting: the known systems in the paper's order, others behind them by name.

    >>> sorted(["Other", "CRF", "SAPO"], key=rank)
    ['SAPO', 'CRF', 'Other']
    """
    return (ORDER.index(system) if system in ORDER else len(ORDER), system)
