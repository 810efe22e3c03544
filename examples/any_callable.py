"""Questions that are Python functions: what would you ask about a digit that you cannot see?"""

import numpy as np
from scipy.ndimage import center_of_mass, label

import infopursuit as ip
from infopursuit.app.datasets import digits

INK = 6  # pixels go from 0 to 16


def holes(image):
    """Where ink surrounds paper: above in a 9, below in a 6, in the middle of a 0, twice in an 8, nowhere in a 1."""
    pieces, n = label(np.pad(image <= INK, 1, constant_values=True))  # the first piece is all of the outside
    if n != 2:
        return "none" if n < 2 else "two"
    row, _ = center_of_mass(pieces == 2)
    return "above" if row < 4 else "below" if row > 5 else "in the middle"


def strokes(line):
    """How many runs of ink a line of pixels crosses."""
    ink = np.concatenate([[False], line > INK])
    return ("none", "one", "two or more")[min(int((ink[1:] & ~ink[:-1]).sum()), 2)]


def side(line):
    """On which side most of the ink of a line lies."""
    left, right = line[:4].sum(), line[4:].sum()
    return "left" if left > 2 * right else "right" if right > 2 * left else "both or none"


rows = {f"strokes across row {r + 1}": (lambda image, r=r: strokes(image[r])) for r in range(8)}
columns = {f"strokes down column {c + 1}": (lambda image, c=c: strokes(image[:, c])) for c in range(1, 7)}
sides = {f"ink of row {r + 1}": (lambda image, r=r: side(image[r])) for r in range(8)}
questions = ip.queries.functions(
    {"holes": holes, "more ink below": lambda image: image[4:].sum() > image[:4].sum(), **rows, **columns, **sides},
    batched=False,  # a function is given one image at a time
    choices={
        "holes": ["none", "above", "in the middle", "below", "two"],
        **dict.fromkeys([*rows, *columns], ("none", "one", "two or more")),
        **dict.fromkeys(sides, ("left", "both or none", "right")),
    },
    sentences={"holes": "Where does it have a hole?", "more ink below": "Is there more ink below than above?"},
)

data = digits()
clf = ip.InformationPursuitClassifier(
    questions, strategy=ip.models.latent_classes(8), stopping=ip.Confidence(0.05) | ip.InformationGain(0.001)
)
clf.fit(data.x_train, data.y_train)
trace = clf.explain(data.x_test)
accuracy = (trace.predictions == data.y_test).mean()
print(f"{len(questions)} questions; {100 * accuracy:.1f} % right after {trace.length.mean():.1f} of them\n")
print(f"An image of a {data.y_test[0]}:\n{trace[0]}\n")
print(f"Nobody's image, answered by hand:\n{clf.session([('holes', 'two')]).explanation}")
