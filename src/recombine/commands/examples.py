"""What `--help` shows below the options of each command: examples, and what they leave behind."""

from __future__ import annotations

EXAMPLES = {
    "audit": """\
examples:
  recombine audit table.csv --factors colour shape size --label animal --split fold
  recombine audit table.parquet --label y --split part --train 0 1 2 --test 4
  recombine audit table.csv --label y --split split --out audit      a page with figures
  recombine audit table.csv --label y --split split --json --fail-on leak,unlearnable
  recombine audit corners                                            a task of the catalog

TABLE is a CSV file (comma, semicolon, tab or bar; also .gz) or a Parquet file with a header. Each
row names the values of some factors, a label, and in the split column whether it is trained on.
Rows whose split value reads 'train' are training and all others are the test; --train and --test
say otherwise. The audit tells which combinations are held out, what each test row shares with
training, whether any kernel model at all could get the held-out rows right and which rows clash if
not, which single factor or pair predicts the label in training and fails in the test, what leaks,
and what kernel models and wide ReLU networks are predicted to answer. Nothing is trained.

Findings that --fail-on may name (or 'any'): leak, contradiction, unlearnable, misled, shortcut,
single-factor, unseen, imbalance, shift, constant, identifier, missing, lookalike, duplicates; those
shown as a note do not count. Exit code: 0 done, 1 a finding named by --fail-on, 2 the call was
wrong. docs/audit.md says what to do about each finding.""",
    "reproduce": """\
examples:
  recombine reproduce                                  a first look: the main parts of all
  recombine reproduce gradient/corners --seeds 1000    more seeds; only the new ones are trained
  recombine reproduce gradient --scale paper           the published sizes
  recombine reproduce gradient/corners --set recipe.steps=200 --set model.widths=16,16

The same command again continues where it was stopped. Exit code: 0 done, 1 something failed,
2 the call was wrong, 130 stopped by Ctrl-C.""",
    "status": """\
examples:
  recombine status                                     all that was ever asked of this store
  recombine status gradient                            of one study
  recombine status gradient --scale paper              how far that request would be
  recombine status gradient/corners --set recipe.steps=200""",
    "report": """\
examples:
  recombine report                                     all the store can answer, into report/
  recombine report gradient --out pages                one study, into another folder
  recombine report gradient/corners --set recipe.steps=200    what was made with that setting

An earlier report there is replaced; any other folder that is not empty is left alone.""",
    "data": """\
examples:
  recombine data list                          what there is, and which sets are ready
  recombine data get mnist                     fetched by name, verified by hash
  recombine data get mnist --from downloads    from files you have, packed or not
  recombine data verify                        read every byte of what is there""",
    "diagnose": """\
examples:
  recombine diagnose mlp corners                          a built-in model on a built-in task
  recombine diagnose my_model.py:build corners            your own torch.nn.Module
  recombine diagnose transformer scan/addprim_jump --compare seq2seq
  recombine diagnose my_model.py:build corners --weights trained.safetensors

A model of your own is a function (or class) that returns a torch.nn.Module. It may ask by name for
input_shape, outputs, classes, words or tokens. What the module's forward takes and gives:
  inputs to classes      inputs [batch, ...] -> scores [batch, outputs, classes]
  sequence to sequence   source [batch, time], words so far [batch, step]
                         -> scores [batch, step, classes]
  next token             tokens [batch, time] -> scores [batch, time, tokens]
docs/own-model.md has a worked example of each.""",
    "runs": """\
examples:
  recombine runs export results/mine.jsonl.gz     finished records as one file, without weights
  recombine runs import results/mine.jsonl.gz     merge them into this store
  recombine runs verify --redo                    set damaged runs aside, to be made again""",
}
