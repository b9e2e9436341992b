"""What papers report: D-VAE (Zhang et al., NeurIPS 2019), DAGNN (Thost and Chen, ICLR 2021), PACE (Dong et al., ICML
2022). By space ("enas", "bn") and model; shares in per cent."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Generative:
    """A row of Table 1; the accuracy is what the original code measures, the mean's. None: not reported."""

    accuracy: float | None
    validity: float | None
    uniqueness: float | None
    novelty: float | None


@dataclass(frozen=True)
class Predictive:
    """A row of Table 2."""

    rmse: float
    rmse_deviation: float | None
    r: float
    r_deviation: float | None


# Tables 1 and 3 of the paper; PACE's uniqueness from its own.
GENERATIVE: dict[str, dict[str, Generative]] = {
    "enas": {
        "dvae": Generative(99.96, 100.00, 37.26, 100.00),
        "svae": Generative(99.98, 100.00, 37.03, 99.99),
        "graphrnn": Generative(99.85, 99.84, 29.77, 100.00),
        "gcn": Generative(98.70, 99.53, 34.00, 100.00),
        "deepgmg": Generative(94.98, 98.66, 46.37, 99.93),
        "dvae-smp": Generative(92.35, 99.75, 65.98, 100.00),
        "dvae-fast": Generative(99.98, 100.00, 40.53, 100.00),
        "pace": Generative(None, None, 57.8, None),
    },
    "bn": {
        "dvae": Generative(99.94, 98.84, 38.98, 98.01),
        "svae": Generative(99.99, 100.00, 35.51, 99.70),
        "graphrnn": Generative(96.71, 100.00, 27.30, 98.57),
        "gcn": Generative(99.81, 99.02, 32.84, 99.40),
        "deepgmg": Generative(47.74, 98.86, 57.27, 98.49),
        "pace": Generative(None, None, 45.1, None),
    },
}
# Tables 2 and 3 of the paper; DAGNN's and PACE's from their own papers.
PREDICTIVE: dict[str, dict[str, Predictive]] = {
    "enas": {
        "dvae": Predictive(0.384, 0.002, 0.920, 0.001),
        "svae": Predictive(0.478, 0.002, 0.873, 0.001),
        "graphrnn": Predictive(0.726, 0.002, 0.669, 0.001),
        "gcn": Predictive(0.485, 0.006, 0.870, 0.001),
        "deepgmg": Predictive(0.433, 0.002, 0.897, 0.001),
        "dvae-smp": Predictive(0.455, 0.002, 0.885, 0.001),
        "dvae-fast": Predictive(0.419, 0.006, 0.905, 0.001),
        "dagnn": Predictive(0.264, None, 0.964, None),
        "pace": Predictive(0.254, None, 0.964, None),
    },
    "bn": {
        "dvae": Predictive(0.300, 0.004, 0.959, 0.001),
        "svae": Predictive(0.369, 0.003, 0.933, 0.001),
        "graphrnn": Predictive(0.774, 0.007, 0.641, 0.002),
        "gcn": Predictive(0.557, 0.006, 0.836, 0.002),
        "deepgmg": Predictive(0.788, 0.007, 0.625, 0.002),
        "dagnn": Predictive(0.122, None, 0.991, None),
        "pace": Predictive(0.115, None, 0.994, None),
    },
}
SPACE_OF = {"enas6": "enas", "asia": "bn", "asia-bnlearn": "bn"}  # by the task's name
# Variants that no paper reports are shown beside what they are a variant of.
SAME_AS = {"dvae-original": "dvae", "dvae-sum": "dvae", "gcn-original": "gcn"}

# The best BIC found on bnlearn's Asia data, and what is known of them (paper, section 4.3; later: DAGNN and PACE).
BEST_BIC = {"D-VAE": -11125.75, "DAGNN and PACE": -11107.29}
BEST_TRAINING_BIC = -11141.89
# The best CIFAR-10 accuracy, in per cent, of fully trained architectures that were found.
BEST_ACCURACY = {"D-VAE": 94.80, "S-VAE": 92.79, "DAGNN": 95.06, "PACE": 95.08}
# The variance that the first two principal components hold, in per cent (paper, section 4.4).
EXPLAINED = {"dvae": 59.0, "svae": 17.0}

# Graphs per second that the original D-VAE trains on one H200, measured (batch 32 on ENAS-6, 128 on Bayesian networks).
ORIGINAL_TRAINING_RATE = {"enas": 128.0, "bn": 139.0}


def predictive(task: str, model: str) -> tuple[str, Predictive] | None:
    """What papers report for the model, or for D-VAE where they do not have it; None for other tasks."""
    table = PREDICTIVE.get(SPACE_OF.get(task, ""), {})
    name = model if model in table else "dvae"
    return (name, table[name]) if table else None
