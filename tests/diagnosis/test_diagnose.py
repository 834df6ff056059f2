"""The diagnosis from end to end: built-in models, one's own, two side by side, and mistakes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from recombine.commands.diagnose import named
from recombine.conduct import Found, conduct
from recombine.diagnosis import Card, diagnosis, verdict_in_words
from recombine.diagnosis.reading import Reading
from recombine.errors import UnknownName, UsageError
from recombine.report import write_card
from recombine.runs import Store
from recombine.studies import Finding
from recombine.tasks.corners import Corners
from shell import Said, call

EXAMPLES = Path(__file__).parents[2] / "examples"
SHORT = ("recipe.steps=30",)


def refused(said: Said) -> str:
    """The one line of a call that was wrong."""
    assert (said.code, said.out) == (2, "")
    return said.line


def found(tmp_path: Path, *models: object, task: object = "corners", seeds: int = 3) -> Finding:
    asked = diagnosis(models, task, seeds=seeds, settings=SHORT)  # type: ignore[arg-type]
    with Store.open(tmp_path / "store") as store:
        (answer,) = [e for e in conduct([asked], store, workers=1) if isinstance(e, Found)]
    assert answer.failed == 0
    return answer.finding


def test_every_claim_is_judged_and_every_sentence_has_evidence(tmp_path: Path) -> None:
    finding = found(tmp_path, "mlp")
    ids = [claim.id for claim, _ in finding.claims]
    assert ids == ["learns-mlp", "composes-mlp-corner", "leans-mlp"]
    sentences = verdict_in_words(finding)
    assert sentences and {s.evidence for s in sentences} <= {*ids, *(t.id for t in finding.tables)}
    page = write_card(
        tmp_path / "card", finding, [(s.text, s.evidence) for s in sentences], ["Note."]
    )
    text = page.read_text()
    for sentence in sentences:
        assert sentence.text.partition(":")[0] in text
    assert text.count('id="diagnosis-card-quick-as-given-learns-mlp"') == 1


def test_the_numbers_are_those_of_the_answers(tmp_path: Path) -> None:
    """Accuracy by factor and combination, item by item, adds up to the accuracy of the items."""
    asked = diagnosis(["mlp"], "corners", seeds=3, settings=SHORT)
    from recombine.studies.results import Seeds

    with Store.open(tmp_path / "store") as store:
        list(conduct([asked], store, workers=1))
        (need,) = asked.needs().values()
        from recombine.cell import Outcome
        from recombine.spec import key_of

        loaded = store.get_many(key_of(need.cell), range(3))
        cell = Seeds({s: Outcome(r.scalars, arrays) for s, (r, arrays) in loaded.items()})
    reading = Reading(Corners())
    right = reading.right(cell, "train")
    combinations, each = reading.by_combination(cell, "train")
    assert len(combinations) == 3 and np.allclose(each.mean(1), right.mean(1))
    z = reading.items("train").z
    for factor in range(2):
        values = reading.by_value(cell, "train", factor)
        shares = [(z[:, factor] == int(v == "1")).mean() for v in values]
        total = sum(s * v for s, v in zip(shares, values.values(), strict=True))
        assert np.allclose(total, right.mean(1))
    assert np.abs(right.mean(1) - reading.accuracy(cell, "train")).max() < 0.1


def test_a_model_given_in_python(tmp_path: Path) -> None:
    from torch import nn

    def linear(input_shape: tuple[int, ...], classes: int) -> nn.Module:
        return nn.Linear(input_shape[0], classes)

    finding = found(tmp_path, linear)
    assert isinstance(finding.part, Card) and list(finding.part.models) == ["linear"]


def test_two_models_are_paired(tmp_path: Path) -> None:
    finding = found(tmp_path, "mlp", f"{EXAMPLES}/own_model.py:build")
    assert [c.id for c, _ in finding.claims][-1] == "better-corner"
    items = next(t for t in finding.tables if t.id == "items")
    shares = [v.estimate for v in items.rows[0][1:]]  # type: ignore[union-attr]
    assert sum(shares) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("model", "task"),
    [
        ("own_transformer.py:build", "lookup-tables"),
        ("hugging_face_style.py:build", "lookup-tables"),
        ("own_model.py:build", f"{EXAMPLES}/own_task.py:Badges"),
    ],
)
def test_the_examples_run(model: str, task: str, tmp_path: Path) -> None:
    said = call(
        "diagnose", EXAMPLES / model, task, "--seeds", 2, "--set", "recipe.steps=3", "--workers", 1,
        "--store", tmp_path / "store", "--out", tmp_path / "card", "--json",
    )  # fmt: skip
    assert said.code == 0, said.err
    assert said.json["verdict"] and (tmp_path / "card" / "index.html").is_file()


@pytest.mark.parametrize("model", ["transformer", "seq2seq"])
def test_built_in_sequence_models_work_out_of_the_box(model: str, tmp_path: Path) -> None:
    said = call(
        "diagnose", model, "lookup-tables", "--seeds", 2, "--set", "recipe.steps=3",
        "--workers", 1, "--store", tmp_path / "store", "--out", tmp_path / "card",
    )  # fmt: skip
    assert said.code == 0, said.err
    assert "lookup-tables" in said.out and "kinds" in (tmp_path / "card/index.html").read_text()


def test_an_analysis_of_ones_own_reads_any_stack() -> None:
    import sys

    sys.path.insert(0, str(EXAMPLES))
    try:
        from own_analysis import Confidence  # type: ignore[import-not-found]
    finally:
        sys.path.pop(0)
    from recombine.models.mlp import MLP

    task, model = Corners(), MLP()
    stack = model.stack([0, 1], task.input_shape, 1, 2)
    measured = Confidence().measure(stack, task, model)
    assert set(measured) == {"confidence/train", "confidence/corner"}
    assert all((v >= 0.5).all() and v.shape == (2,) for v in measured.values())


WRONG = {
    "model": (["diagnose", "mpl", "corners"], ["perhaps you meant 'mlp'"]),
    "task": (["diagnose", "mlp", "cornrs"], ["perhaps you meant 'corners'"]),
    "variant": (["diagnose", "mlp", "corners/x"], ["unknown variant"]),
    "file": (["diagnose", "absent.py:build", "corners"], ["absent.py", "no such file"]),
    "function": (["diagnose", "absent.py", "corners"], ["absent.py:function"]),
    "unfit": (["diagnose", "transformer", "corners"], ["does not read vectors"]),
    "field": (["diagnose", "mlp", "corners", "--set", "model.widht=3"], ["widths"]),
    "place": (["diagnose", "mlp", "corners", "--set", "steps=3"], ["recipe."]),
    "seeds": (["diagnose", "mlp", "corners", "--seeds", "0"], ["--seeds = 0"]),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_call_is_one_line(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words, said = WRONG[what]
    line = refused(call(*words))
    assert all(each in line for each in said), line


def test_a_loss_that_is_no_number_is_a_failure_with_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "import torch\n"
        "class Bad(torch.nn.Linear):\n"
        "    def forward(self, x): return super().forward(x) * float('nan')\n"
        "def build(): return Bad(2, 2)\n"
    )
    said = call("diagnose", f"{path}:build", "corners", "--seeds", 1, "--workers", 1,
                "--store", tmp_path / "store", "--out", tmp_path / "card")  # fmt: skip
    assert said.code != 0 and "nan" in said.err.lower()


def test_tasks_and_models_are_found_by_name() -> None:
    with pytest.raises(UnknownName):
        diagnosis(["mlp"], "nothing")
    with pytest.raises(UsageError):
        diagnosis(["mlp.py"], "corners")


def test_the_python_call_is_the_command(tmp_path: Path) -> None:
    import recombine

    said = recombine.diagnose("mlp", "corners", seeds=2, settings=SHORT, store=tmp_path / "store")
    assert str(said).startswith("mlp ") or "mlp" in str(said)
    assert said.write(tmp_path / "card").is_file()


def test_a_changed_task_is_another_task(tmp_path: Path) -> None:
    text = (EXAMPLES / "own_task.py").read_text()
    path = tmp_path / "mine.py"
    path.write_text(text)
    first = diagnosis(["mlp"], f"{path}:Badges", seeds=1).asked().cells[0].key
    path.write_text(text.replace("0.1", "0.1 "))
    assert diagnosis(["mlp"], f"{path}:Badges", seeds=1).asked().cells[0].key != first


@pytest.mark.parametrize("name", ["own_task.py:Badges", "own_analysis.py:Confidence"])
def test_the_examples_keep_every_promise(name: str) -> None:
    said = call("check", EXAMPLES / name)
    assert said.code == 0, said.out


def test_what_is_no_component_cannot_be_checked() -> None:
    line = refused(call("check", EXAMPLES / "own_model.py:build"))
    assert "is no task, model, analysis or study" in line


def test_what_is_not_learned_is_not_said_to_compose(tmp_path: Path) -> None:
    """Nothing is lost on new combinations where nothing was right on trained ones."""
    finding = found(tmp_path, "seq2seq", task="lookup-tables", seeds=2)
    said = " ".join(sentence.text for sentence in verdict_in_words(finding))
    assert "learned" in said and "composes" not in said


def test_two_models_can_be_named_in_either_way() -> None:
    both = (["a", "b"], "task")
    assert named("a", "task", None, "b") == named("a", "b", "task", "") == both
    assert named("a", "task", None, None) == (["a"], "task")


@pytest.mark.parametrize("words", [("mlp", "mlp", "corners"), ("mlp", "corners", "--compare")])
def test_two_models_without_a_task_or_without_compare_are_refused(words: tuple[str, ...]) -> None:
    assert "A B TASK --compare" in refused(call("diagnose", *words))
