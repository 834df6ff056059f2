"""The interpreter of SCAN: from the words of a command to its actions, by their meaning alone.

It reads any sentence of the language, and shares no table with the grammar that generates it: the
two are tested against each other and against the official files.
"""

from __future__ import annotations

from collections.abc import Sequence

from recombine.errors import UsageError

REPEATS = {"twice": 2, "thrice": 3}
ACTS = {"walk": ["I_WALK"], "look": ["I_LOOK"], "run": ["I_RUN"], "jump": ["I_JUMP"], "turn": []}
TURNS = {"left": ["I_TURN_LEFT"], "right": ["I_TURN_RIGHT"]}


class NoCommand(UsageError):
    """A sentence that is not of the language."""


def interpret(command: str) -> list[str]:
    """The actions that a command asks for."""
    words = command.split()
    joins = [i for i, word in enumerate(words) if word in ("and", "after")]
    if len(joins) > 1:
        raise _refusal(command, "it joins more than two phrases")
    if not joins:
        return _phrase(words, command)
    first, second = words[: joins[0]], words[joins[0] + 1 :]
    one, two = _phrase(first, command), _phrase(second, command)
    return one + two if words[joins[0]] == "and" else two + one


def _phrase(words: Sequence[str], command: str) -> list[str]:
    """`look left twice`: the core, as often as its last word says."""
    if words and words[-1] in REPEATS:
        return _core(words[:-1], command) * REPEATS[words[-1]]
    return _core(words, command)


def _core(words: Sequence[str], command: str) -> list[str]:
    """`walk`, `walk left`, `walk opposite left`, `walk around left`."""
    match words:
        case [verb] if ACTS.get(verb):
            return [*ACTS[verb]]
        case [verb, side] if verb in ACTS and side in TURNS:
            return TURNS[side] + ACTS[verb]
        case [verb, "opposite", side] if verb in ACTS and side in TURNS:
            return TURNS[side] * 2 + ACTS[verb]
        case [verb, "around", side] if verb in ACTS and side in TURNS:
            return (TURNS[side] + ACTS[verb]) * 4
    raise _refusal(command, f"'{' '.join(words)}' is no phrase")


def _refusal(command: str, why: str) -> NoCommand:
    return NoCommand(f"'{command}' is no command of SCAN: {why}")
