"""One answer is changed (no feathers), and the following queries change."""

import sys

import infopursuit as ip
from infopursuit import plots

QUESTIONS = [
    "has feathers",
    "can fly",
    "lives in water",
    "lays eggs",
    "eats meat",
    "is larger than a dog",
    "is a pet",
    "has legs",
]
ANIMALS = {
    "cat": "00001011", "horse": "00000101", "lion": "00001101", "bat": "01001001", "whale": "00101100",
    "hen": "10010011", "eagle": "11011001", "penguin": "10111001", "parrot": "11010011", "ostrich": "10010101",
    "trout": "00111000", "shark": "00101100", "frog": "00111001", "snake": "00011000", "bee": "01010001",
    "goldfish": "00110010",
}  # fmt: skip

# each answer of the table is taken to be wrong in 5 of 100 cases
sure = [[0.95 if fact == "1" else 0.05 for fact in facts] for facts in ANIMALS.values()]
model = ip.models.TableModel([1 / len(ANIMALS)] * len(ANIMALS), None, sure)
pursuit = ip.Pursuit.of(model, ip.queries.concepts(QUESTIONS), stopping=ip.InformationGain(0.1), classes=list(ANIMALS))


def asked(feathers):
    """A penguin, told truthfully but for the feathers."""
    session = pursuit.session()
    while session.question is not None:
        name = session.question.name
        truth = ANIMALS["penguin"][QUESTIONS.index(name)] == "1"
        session.answer("yes" if (feathers if name == "has feathers" else truth) else "no")
    return session.explanation


figure = plots.compare(asked(True), asked(False), names=("as it is", "without feathers"))
plots.save(figure, sys.argv[1] if len(sys.argv) > 1 else "what_if.png", dpi=100)
