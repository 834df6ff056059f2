"""The dependence matrix of SCAN: what changes in an answer when one verb of its command is moved.

A sentence has no fixed places for its factors, but its right answer says which of its words belong
to whom. So the rows of the matrix are three parts of the answer: the acts of phrase 1, the acts of
phrase 2, and the frame (turns and the end); the columns are the verbs of phrase 1 and phrase 2.
D[i, j] is the share of commands whose answer changes anywhere in part i when verb j is moved and
everything else is held. A network that composes has

                 verb 1   verb 2
    acts 1          1        0
    acts 2          0        1
    frame           0        0

The matrix is taken twice: with verbs moved among walk, look and run, and with the verb moved *to*
jump, which `addprim_jump` shows by itself only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Bool, Float, Int

from recombine.analyses.analysis import ANALYSIS_SEED
from recombine.errors import BadValue
from recombine.models.model import Model
from recombine.models.stack import Stack
from recombine.seeds import stream
from recombine.spec import Spec
from recombine.tasks.scan_grammar import ACTIONS, JOIN, VERB_1, VERB_2, VERBS, commands
from recombine.tasks.task import Task

MOVES = ("among walk, look, run", "to jump")
PARTS = ("acts of phrase 1", "acts of phrase 2", "frame: turns and end")
JUMP = VERBS.index("jump")


@dataclass(frozen=True)
class VerbDependence(Spec):
    """Measures it on commands of two phrases, both with walk, look or run."""

    # Not on the shelf of analyses: those read any task, this one knows the words of SCAN.
    kind: ClassVar[str] = "training"
    name: ClassVar[str] = "verb-dependence"

    examples: int = 300

    def validate(self) -> None:
        if self.examples < 1:
            raise BadValue("training/verb-dependence.examples", self.examples, "at least 1")

    def measure(
        self, stack: Stack, task: Task, model: Model
    ) -> Mapping[str, Float[np.ndarray, "seed move part verb"]]:
        if task.name != "scan":
            raise BadValue("training/verb-dependence", task.name, "the task scan")
        rng = stream(ANALYSIS_SEED, "verb-dependence")
        places = len(task.outputs)
        z = _two_phrases(self.examples, places, rng)
        before, parts = _answers(stack, z), answer_parts(z)[..., :places]
        table = np.zeros((stack.lanes, len(MOVES), len(PARTS), 2))
        for column, factor in enumerate((VERB_1, VERB_2)):
            shift = 1 if factor == VERB_2 else 0  # the second verb may be missing: value 0
            among, jumping = z.copy(), z.copy()
            among[:, factor] = (z[:, factor] - shift + rng.integers(1, JUMP, len(z))) % JUMP + shift
            jumping[:, factor] = JUMP + shift
            for row, moved in enumerate((among, jumping)):
                changed = before != _answers(stack, moved)
                for part in range(len(PARTS)):
                    table[:, row, part, column] = (changed & parts[:, part]).any(-1).mean(-1)
        return {"verb-dependence": table}


def _two_phrases(n: int, places: int, rng: np.random.Generator) -> Int[np.ndarray, "n factor"]:
    """Commands of two phrases that both act, without jump, and whose answer has room."""
    z = commands().z[commands().lengths <= places]
    acting = (z[:, JOIN] > 0) & (z[:, VERB_1] < JUMP) & (z[:, VERB_2] - 1 < JUMP)
    fitting = z[acting]
    return np.asarray(fitting[rng.integers(len(fitting), size=n)])


def _answers(stack: Stack, z: Int[np.ndarray, "n factor"]) -> Int[np.ndarray, "seed n place"]:
    """The free-running answers of every lane."""
    every = commands()
    words = every.words[every.rows(z)]
    inputs = np.eye(len(VERBS) + 9, dtype=np.float32)[:, :-1][words]
    device = next(stack.parameters()).device
    with torch.no_grad():
        raw = stack(torch.from_numpy(inputs).unsqueeze(0).to(device))
    return np.asarray(raw.argmax(-1).cpu().numpy())


def answer_parts(z: Int[np.ndarray, "n factor"]) -> Bool[np.ndarray, "n part place"]:
    """Which places of the right answer are acts of phrase 1, acts of phrase 2, and frame."""
    every = commands()
    answers = every.answers[every.rows(z)]
    alone = np.zeros_like(z)
    alone[:, 1:4] = z[:, 1:4]
    first = every.lengths[every.rows(alone)] - 1
    total = (answers >= 0).sum(1) - 1
    begin = np.where(z[:, JOIN] == 2, total - first, 0)  # after: phrase 1 comes last
    place = np.arange(answers.shape[1])
    inside = (place >= begin[:, None]) & (place < (begin + first)[:, None])
    acts = (answers >= 0) & (answers < len(ACTIONS) - 2)
    frame = (answers >= 0) & ~acts
    return np.stack([acts & inside, acts & ~inside, frame], axis=1)
