"""The diagnosis of a model: trained on a task of known structure, judged on new combinations."""

from recombine.diagnosis.answering import Answer, answer, diagnose
from recombine.diagnosis.asking import Diagnosis, diagnosis
from recombine.diagnosis.card import Card
from recombine.diagnosis.words import verdict_in_words

__all__ = [
    "Answer",
    "Card",
    "Diagnosis",
    "answer",
    "diagnose",
    "diagnosis",
    "verdict_in_words",
]
