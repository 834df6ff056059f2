"""The command line: verbs and their options; nothing heavy is imported until a verb is chosen."""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from recombine import __version__
from recombine.commands.examples import EXAMPLES
from recombine.errors import NO_ROOM, Interrupted, RecombineError, UnknownName, UsageError

DESCRIPTION = """\
Does your model compose? Where does it fail, and why?

recombine reproduces published results on compositional generalization, each claim with a
verdict. Start with 'recombine list', then 'recombine reproduce gradient/corners'."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line with the nearest legal word."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see '{self.prog} --help'")

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            what = "command" if isinstance(action, argparse._SubParsersAction) else "value"
            raise UnknownName(what, str(value), [str(c) for c in action.choices])


def parser() -> Parser:
    """The whole command line."""
    top = Parser(
        prog="recombine",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"recombine {__version__}")
    verbs = top.add_subparsers(dest="verb", metavar="COMMAND", title="commands")

    def verb(name: str, summary: str, module: str, *, store: bool = True) -> Parser:
        made: Parser = verbs.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            epilog=EXAMPLES.get(name),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        made.set_defaults(module=f"recombine.commands.{module}")
        return _store(made, os.environ.get("RECOMBINE_STORE") or ".recombine") if store else made

    _json(_kind(verb("list", "what there is to choose from", "listing", store=False)))
    show = verb("show", "a paper, its claims, and what the store has of it", "show")
    show.add_argument("study", help="a study, or a part of one: gradient or gradient/corners")
    _json(show)
    _json(_work(_asked(verb("reproduce", "run studies and judge their claims", "reproduce"))))
    _json(_asked(verb("status", "what is done, missing, failed and stale", "status")))
    _report(
        _asked(verb("report", "write the report from what the store has", "report"), sizes=False)
    )
    _diagnose(verb("diagnose", "does this model compose? train it and see", "diagnose"))
    _runs(verb("runs", "move and check stored runs", "runs"))
    _data(verb("data", "sets of images: what there is, fetch, verify", "data", store=False))
    _audit(
        verb("audit", "say what can be learned from a table and its split", "audit", store=False)
    )
    check = verb("check", "run the conformance checks on components", "check", store=False)
    check.add_argument("names", nargs="*", help="such as tasks/corners; none: everything there is")
    _json(check)
    bench = verb("bench", "measure speed, as ratios within one run", "bench", store=False)
    bench.add_argument("names", nargs="*", help="such as lanes or store; none: all there are")
    _json(bench)
    return top


def _kind(made: Parser) -> Parser:
    made.add_argument("kind", nargs="?", help="tasks, models, analyses or studies; none: all")
    return made


def _store(made: Parser, default: str) -> Parser:
    words = "where runs are kept (default: $RECOMBINE_STORE or .recombine)"
    made.add_argument("--store", type=os.path.expanduser, default=default, help=words)
    return made


def _json(made: Parser) -> Parser:
    made.add_argument("--json", action="store_true", help="one JSON object and nothing else")
    return made


def _asked(made: Parser, *, sizes: bool = True) -> Parser:
    made.add_argument("studies", nargs="*", help="such as gradient or gradient/corners; none: all")
    if sizes:
        made.add_argument("--scale", default=None, help="quick (default) or paper")
        made.add_argument("--seeds", type=_whole, default=None, help="seeds of the main cell")
    made.add_argument(
        "--profile", default=None, help="such as as-run or as-printed, where a study has several"
    )
    made.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="FIELD=VALUE",
        help="change a field of every cell, such as recipe.steps=200; may be repeated",
    )
    return made


def _work(made: Parser) -> Parser:
    made.add_argument("--workers", type=_whole, default=None, help="processes (default: cores)")
    _where_data_is(made)
    made.add_argument("--device", default="cpu", help="torch device (default: cpu)")
    return made


def _report(made: Parser) -> Parser:
    made.add_argument("--out", default="report", help="folder to write (default: report)")
    made.add_argument(
        "--ledger",
        metavar="DIR",
        default=None,
        help="also write DIR/<study>-<part>.json from paper-scale runs, and RESULTS.md beside DIR",
    )
    return _json(made)


def _diagnose(made: Parser) -> Parser:
    made.add_argument("model", help="a built-in model, or path/to/file.py:function of your own")
    made.add_argument("task", help="a built-in task such as corners, or path/to/file.py:Task")
    made.add_argument("last", nargs="?", metavar="task after two models", help=argparse.SUPPRESS)
    made.add_argument(
        "--compare",
        metavar="MODEL",
        nargs="?",
        const="",
        default=None,
        help="a second model, side by side; or 'diagnose A B TASK --compare'",
    )
    made.add_argument("--seeds", type=_whole, default=None, help="networks to train (default: 5)")
    made.add_argument(
        "--weights",
        default=None,
        help="trained weights (.safetensors, or a state_dict): no training",
    )
    made.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="FIELD=VALUE",
        help="such as recipe.steps=500, model.hidden=64 or task.train_on=four; may be repeated",
    )
    made.add_argument("--out", default="card", help="folder of the report card (default: card)")
    return _json(_work(made))


def _audit(made: Parser) -> Parser:
    made.add_argument("table", metavar="TABLE", help="a CSV or Parquet file, or a task's name")
    made.add_argument(
        "--factors",
        action="extend",
        nargs="+",
        default=[],
        metavar="COLUMN",
        help="names, with blanks or commas between (default: all other columns)",
    )
    made.add_argument("--label", default="", metavar="COLUMN", help="what is to be predicted")
    made.add_argument("--split", default="", metavar="COLUMN", help="which rows are trained on")
    made.add_argument(
        "--train", action="extend", nargs="+", default=[], metavar="VALUE", help="default: train"
    )
    made.add_argument(
        "--test",
        action="extend",
        nargs="+",
        default=[],
        metavar="VALUE",
        help="default: the others",
    )
    made.add_argument(
        "--labels",
        metavar="{classes,numbers}",
        default=None,
        help="read the label as classes or numbers (default: numbers if it has fractions or more "
        "than ten different whole numbers)",
    )
    made.add_argument(
        "--missing",
        metavar="{drop,keep}",
        default="drop",
        help="leave rows with a missing factor out (default), or count it as a value",
    )
    made.add_argument("--order", type=_whole, default=3, help="largest sets asked about (3)")
    made.add_argument("--no-predictions", action="store_true", help="skip the exact kernel fits")
    made.add_argument("--seed", type=_whole, default=0, help="for what is sampled, if anything")
    made.add_argument("--out", default=None, metavar="DIR", help="also write a page there")
    made.add_argument(
        "--fail-on",
        action="append",
        default=[],
        metavar="FINDING,…",
        help="exit with 1 if one of these is found; may be repeated",
    )
    return _json(made)


def _runs(made: Parser) -> Parser:
    actions = made.add_subparsers(dest="action", required=True, metavar="ACTION")
    export = actions.add_parser("export", help="finished records to one file, without weights")
    export.add_argument("path", help="a .jsonl or .jsonl.gz file")
    export.add_argument("--study", action="append", default=[], help="only these; may be repeated")
    load = actions.add_parser("import", help="merge the records of a file into the store")
    load.add_argument("path", help="a file that export wrote")
    verify = actions.add_parser("verify", help="read every byte and name damaged runs")
    verify.add_argument("--redo", action="store_true", help="set damaged runs aside, to be remade")
    for action in (export, load, verify):
        _json(_store(action, argparse.SUPPRESS))  # before the action or after it
    return made


def _data(made: Parser) -> Parser:
    actions = made.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="what sets there are, and which are ready")
    get = actions.add_parser("get", help="fetch sets from whichever source answers")
    get.add_argument(
        "--from",
        dest="folders",
        action="append",
        default=[],
        metavar="FOLDER",
        help="look here first: a folder with the set's files; may be repeated",
    )
    verify = actions.add_parser("verify", help="read every byte and compare with the known hashes")
    for action in (listing, get, verify):
        action.add_argument("names", nargs="*", help="such as mnist; none: all")
        _json(_where_data_is(action))
    return made


def _where_data_is(made: Parser) -> Parser:
    words = "where data sets are kept (default: $RECOMBINE_DATA or the user's cache)"
    made.add_argument("--data", default=None, metavar="DIR", help=words)
    return made


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number") from None


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code says how it went."""
    # One thread a process: results must not depend on the number of cores. Set before NumPy loads.
    for library in ("OMP", "OPENBLAS", "MKL"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    _ready_output()
    try:
        try:
            return _run(argv)
        finally:
            sys.stdout.flush()  # a pipe that nobody reads must show here, not at Python's end
    except Interrupted as stop:
        return _say(f"{stop}. To go on, run the same command again.", stop.exit_code)
    except RecombineError as error:
        return _say(f"recombine: {error}", error.exit_code)
    except KeyboardInterrupt:
        return _say("stopped. To go on, run the same command again.", Interrupted.exit_code)
    except BrokenPipeError:  # whoever read our output has seen enough
        _leave_output()
        return 0
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        _leave_output()
        return _say(f"recombine: no room to write the output ({error.strerror})", 1)


def _run(argv: Sequence[str] | None) -> int:
    top = parser()
    call, rest = top.parse_known_args(argv)
    if rest:
        about = f"recombine {call.verb or ''}".rstrip()
        raise UsageError(f"unrecognized arguments: {' '.join(rest)}; see '{about} --help'")
    if call.verb is None:
        top.print_help()
        return 0
    code: int = importlib.import_module(call.module).run(call)
    return code


def _ready_output() -> None:
    """Let standard output take any letter, and go nowhere where it or the errors are closed."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="replace")  # α is ? in ASCII, and no traceback
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, io.StringIO())


def _leave_output() -> None:
    from recombine.commands.terminal import leave

    leave(sys.stdout)


def _say(line: str, code: int) -> int:
    print(line, file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
