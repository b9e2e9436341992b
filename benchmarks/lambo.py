"""LaMBO-2 on sequences of symbols of one length, for solvers.py: its authors' optimiser and networks, `pytorch-cortex`.

Set as in the package's own configuration of proteins - embeddings of 32 and 128 channels, two heads that predict the
score, masks as corruption, Adam at 5e-3 over 64 epochs with a cosine, two edited places, 16 steps of guidance, a weight
of 0.5 for likelihood, four steps of diffusion - and trained anew on all scored sequences in every round. The package
asks for Lightning 1.9.5 and for the tokenizer of another library; neither is used here: the loop of training is below,
and a symbol is a word. It is installed with `--no-deps`.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from botorch.acquisition.logei import qLogExpectedImprovement
from botorch.acquisition.objective import IdentityMCObjective
from cortex.corruption import MaskCorruptionProcess
from cortex.model.branch import Conv1dBranch
from cortex.model.leaf import DenoisingLanguageModelLeaf, RegressorLeaf
from cortex.model.root import Conv1dRoot
from cortex.model.tree import SequenceModelTree
from cortex.model.trunk import SumTrunk
from cortex.optim.generative import LaMBO
from torch import Tensor, nn

EMBEDDING, CHANNELS, HEADS, PROPERTY = 32, 128, 2, 8
EPOCHS, WARM_UP, BATCH, RATE = 64, 10, 128, 5e-3
STEPS, COPIES, EDITS = 4, 32, 2
NAME = "cell"  # of the root, and so of the head that fills in masked places

Row = tuple[int, ...]


class Symbols:
    """A tokenizer as the package needs one: words are numbers, and two tokens are not written."""

    padding_idx, masking_idx = 0, 1

    def __init__(self, width: int) -> None:
        self.vocab = {"[PAD]": 0, "[MASK]": 1, **{str(number): number + 2 for number in range(width)}}
        self.words = {number: word for word, number in self.vocab.items()}
        self.sampling_vocab_excluded = {"[PAD]", "[MASK]"}

    def cached_encode(self, text: str) -> list[int]:
        return [self.vocab[word] for word in text.split()]

    def decode(self, tokens: Tensor) -> str:
        return " ".join(self.words[int(token)] for token in tokens if int(token) > 1)

    def get_corruptible_mask(self, tokens: Tensor) -> Tensor:
        return tokens > 1


class Encoded(nn.Module):
    """What turns texts into numbers, for a root."""

    def __init__(self, tokenizer: Symbols) -> None:
        super().__init__()
        self.tokenizer = tokenizer

    def forward(self, texts: Any) -> list[list[int]]:
        return [self.tokenizer.cached_encode(text) for text in np.asarray(texts).reshape(-1).tolist()]


class Designer:
    """Proposes sequences: a network of all that is known, and guided changes of the best."""

    def __init__(self, length: int, width: int, each: int) -> None:
        self.length, self.width, self.each = length, width, each

    def proposed(self, known: Mapping[Row, float]) -> list[Row]:
        rows = sorted(known, key=lambda row: -known[row])
        scores = torch.tensor([known[row] for row in rows])
        scores = (scores - scores.mean()) / scores.std().clamp(min=1e-6)
        model = self._trained(rows, scores)
        starts = [rows[place % min(self.each, len(rows))] for place in range(COPIES)]
        with contextlib.redirect_stdout(io.StringIO()):  # it prints every step
            solver = LaMBO(
                self._tokens(model, starts), torch.ones(COPIES, self.length, dtype=torch.bool), model,
                Improvement(model, np.array([_text(row) for row in rows])), max_num_solutions=COPIES,
                num_mutations_per_step=EDITS, domain_name=NAME, resample_edit_positions=True,
            )  # fmt: skip
            for _ in range(STEPS):
                solver.step()
        designs = solver.get_best_solutions().sort_values("obj_val", ascending=False)[NAME]
        found = dict.fromkeys(tuple(map(int, text.split())) for text in designs)
        new = [row for row in found if row not in known and len(row) == self.length]
        return (new or list(found))[: self.each]

    def _tokens(self, model: SequenceModelTree, rows: list[Row]) -> Tensor:
        return model.root_nodes[NAME].eval_transform(np.array([_text(row) for row in rows]))

    def _trained(self, rows: list[Row], scores: Tensor) -> SequenceModelTree:
        model = _tree(self.length, Symbols(self.width))
        optimizer = torch.optim.Adam(model.parameters(), lr=RATE, betas=(0.99, 0.999))
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, _rate)
        tokens = self._tokens(model, rows)
        model.train()
        for _ in range(EPOCHS):
            for some in torch.randperm(len(rows)).split(BATCH):
                for key, leaf in model.leaf_nodes.items():
                    output = model({NAME: {"tgt_tok_idxs": tokens[some], "corrupt_frac": None}}, leaf_keys=[key])
                    root = output.root_outputs[NAME]
                    if key.startswith(NAME) and not root.is_corrupted.any():
                        continue  # nothing was masked, so that nothing is to be filled in
                    loss = leaf.loss(output.leaf_outputs[key], root, targets=scores[some, None])
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
            schedule.step()
        return model.eval()


class Improvement:
    """The log of the expected improvement of each head over its own best prediction of what is known."""

    def __init__(self, model: SequenceModelTree, texts: np.ndarray) -> None:
        with torch.inference_mode():
            output = model.call_from_str_array(texts, corrupt_frac=0.0)
        best = output.fetch_task_outputs("score")["loc"].squeeze(-1).max(1).values.clone()
        self.parts = [qLogExpectedImprovement(None, value, objective=IdentityMCObjective()) for value in best]

    def __call__(self, output: Any) -> Tensor:
        values = output.fetch_task_outputs("score")["loc"]  # head, design, 1
        return torch.stack([p._sample_forward(v).squeeze(-1) for p, v in zip(self.parts, values, strict=True)]).mean(0)


def _tree(length: int, tokenizer: Symbols) -> SequenceModelTree:
    root = Conv1dRoot(
        Encoded(tokenizer), length, EMBEDDING, EMBEDDING, CHANNELS, corruption_process=MaskCorruptionProcess()
    )
    branches = {f"property_{head}": Conv1dBranch(EMBEDDING, PROPERTY, CHANNELS) for head in range(HEADS)}
    branches["generation_0"] = Conv1dBranch(EMBEDDING, EMBEDDING, CHANNELS)
    leaves: dict[str, nn.Module] = {
        f"score_{head}": RegressorLeaf(
            PROPERTY, 1, f"property_{head}", label_smoothing="corrupt_frac", nominal_label_var=0.01, root_key=NAME
        )
        for head in range(HEADS)
    }
    leaves[f"{NAME}_0"] = DenoisingLanguageModelLeaf(
        EMBEDDING, len(tokenizer.vocab), "generation_0", root_key=NAME, last_layer_bias=True
    )
    trunk = SumTrunk([EMBEDDING], EMBEDDING)
    return SequenceModelTree(
        nn.ModuleDict({NAME: root}), trunk, nn.ModuleDict(branches), nn.ModuleDict(leaves), fit_cfg=None
    )


def _rate(epoch: int) -> float:
    if epoch < WARM_UP:
        return (epoch + 1) / WARM_UP
    return 0.5 * (1 + np.cos(np.pi * (epoch - WARM_UP) / (EPOCHS - WARM_UP)))


def _text(row: Row) -> str:
    return " ".join(map(str, row))
