"""Small networks for the tests of this folder."""

from __future__ import annotations

import numpy as np

from dvae.bayesnet import LinearGaussian, Network, ProbabilityTable, Variable

SPRINKLER = """// written by hand, with the freedoms that the format allows
network "sprinkler" { property author = nobody; }
variable rain { type discrete [2] { yes no }; property position = (1, 2); }
variable sprinkler {
  type discrete [ 2 ] { on, off };
}
variable grass { type discrete [ 3 ] { <5, 5-12, 12+ }; }
probability ( rain ) { table 0.2, 0.8; }
probability ( sprinkler | rain ) { (yes) 0.01 0.99; (no) 0.4, 0.6; }
/* two parents,
   and a default */
probability ( grass | sprinkler, rain ) {
  default 0.25, 0.25, 0.5;
  (on, yes) 0.01, 0.09, 0.9;
  (off, no) 1, 0, 0;
}
"""


def random_network(seed: int, size: int = 6, *, edges: float = 0.5, states: int = 3) -> Network:
    """A discrete network over a, b, c, ... with tables drawn at random."""
    generator = np.random.default_rng(seed)
    names = [chr(97 + place) for place in range(size)]
    counts = generator.integers(2, states + 1, size)
    order = generator.permutation(size)
    variables = {}
    for rank, place in enumerate(order):
        above = [int(other) for other in order[:rank] if generator.random() < edges]
        shape = [counts[other] for other in above]
        shares = generator.dirichlet(np.ones(counts[place]), size=shape or None)
        variables[names[place]] = Variable(
            names[place],
            tuple(f"s{code}" for code in range(counts[place])),
            tuple(names[other] for other in above),
            ProbabilityTable(shares),
        )
    return Network(tuple(variables[name] for name in names))


def mixed_network() -> Network:
    """Two discrete and three continuous variables, with lines of every kind."""
    return Network(
        (
            Variable("sex", ("f", "m"), (), ProbabilityTable(np.array([0.6, 0.4]))),
            Variable("smoker", ("no", "yes"), ("sex",), ProbabilityTable(np.array([[0.7, 0.3], [0.5, 0.5]]))),
            Variable(
                "height",
                None,
                ("sex",),
                LinearGaussian(np.array([165.0, 178.0]), np.zeros((2, 0)), np.array([6.0, 7.0])),
            ),
            Variable("age", None, (), LinearGaussian(np.array(40.0), np.zeros(0), np.array(12.0))),
            Variable(
                "pressure",
                None,
                ("age", "smoker", "height"),
                LinearGaussian(np.array([70.0, 80.0]), np.array([[0.8, 0.1], [1.0, 0.05]]), np.array([8.0, 10.0])),
            ),
        )
    )
