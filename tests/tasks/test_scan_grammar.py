"""All of SCAN comes from its grammar, and the interpreter agrees with it."""

import re

import numpy as np
import pytest

from recombine.tasks import scan_grammar as grammar
from recombine.tasks.scan_grammar import ACTIONS, FACTORS, SOURCE_WORDS, commands
from recombine.tasks.scan_meaning import NoCommand, interpret


def test_there_are_20910_commands_each_once() -> None:
    every = commands()
    assert len(every.z) == 20_910 == len(set(every.texts)) == len(np.unique(every.z, axis=0))
    assert max(map(len, map(str.split, every.texts))) == grammar.LONGEST_COMMAND
    assert every.lengths.max() == grammar.LONGEST_ANSWER + 1


def test_the_language_is_that_of_a_regular_expression() -> None:
    side, acts = "(left|right)", "(walk|look|run|jump)"
    core = rf"({acts}|({acts}|turn)( opposite| around)? {side})"
    phrase = rf"{core}( twice| thrice)?"
    sentence = re.compile(rf"{phrase}( (and|after) {phrase})?")
    assert all(sentence.fullmatch(text) for text in commands().texts)


def test_factors_answers_and_words_agree_with_the_interpreter() -> None:
    every = commands()
    for text, answer in zip(every.texts, every.answers.tolist(), strict=True):
        end = answer.index(len(ACTIONS))
        assert [ACTIONS[a] for a in answer[:end]] == interpret(text)
        assert set(answer[end + 1 :]) <= {grammar.IGNORE}


def test_a_combination_leads_to_its_command() -> None:
    every = commands()
    assert np.array_equal(every.rows(every.z), np.arange(len(every.z)))
    named = dict(zip([name for name, _ in FACTORS], every.z[-1].tolist(), strict=True))
    assert every.texts[-1] == "turn around right thrice after turn around right thrice"
    assert FACTORS[0][1][named["join"]] == "after"


def test_impossible_combinations_are_known_and_refused() -> None:
    turn_alone = [0, grammar.VERBS.index("turn"), 0, 0, 0, 0, 0]
    half = [1, 0, 0, 0, 0, 0, 0]
    stray = [0, 0, 0, 0, 0, 1, 0]
    assert not grammar.possible(np.array([turn_alone, half, stray])).any()
    assert grammar.possible(commands().z).all()
    with pytest.raises(ValueError, match="no command combines one phrase, turn, alone"):
        commands().rows(np.array([turn_alone]))
    product = np.indices(grammar.SIZES).reshape(7, -1).T
    assert grammar.possible(product).sum() == 20_910


@pytest.mark.parametrize(
    ("command", "actions"),
    [
        ("jump", "I_JUMP"),
        ("turn left twice", "I_TURN_LEFT I_TURN_LEFT"),
        ("look opposite right", "I_TURN_RIGHT I_TURN_RIGHT I_LOOK"),
        ("walk after run left", "I_TURN_LEFT I_RUN I_WALK"),
        ("turn around left", " ".join(["I_TURN_LEFT"] * 4)),
        ("jump around right", " ".join(["I_TURN_RIGHT I_JUMP"] * 4)),
        ("walk and run thrice", "I_WALK I_RUN I_RUN I_RUN"),
    ],
)
def test_meanings_as_the_paper_gives_them(command: str, actions: str) -> None:
    assert " ".join(interpret(command)) == actions


@pytest.mark.parametrize(
    "sentence", ["", "turn", "walk and", "fly", "walk left right", "walk and run and look", "twice"]
)
def test_other_sentences_are_refused(sentence: str) -> None:
    with pytest.raises(NoCommand, match="is no command of SCAN"):
        interpret(sentence)


def test_every_word_is_used() -> None:
    used = {word for text in commands().texts for word in text.split()}
    assert used == set(SOURCE_WORDS)


def test_an_answer_is_the_callers_own() -> None:
    interpret("jump").append("I_WALK")
    assert interpret("jump") == ["I_JUMP"]
