"""What goes in and what comes out, as the OpenAPI description tells it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, FailFast, Field, model_validator
from pydantic_core import PydanticCustomError

LONGEST, MOST, LONGEST_HISTORY, FIELDS = 1000, 100, 10_000, 16
"""Characters of a query's name or of an answer; choices that one answer weighs; answers of a history; fields of an
object. What has more is refused before each of its parts is looked at, since every part that does not fit costs a
hundred times its own size to tell of."""


def _at_most(most: int) -> BeforeValidator:
    """Refuses what has more parts, whatever they are."""

    def check(value: Any) -> Any:
        if isinstance(value, (dict, list)) and len(value) > most:
            raise PydanticCustomError("too_long", "At most {most} of them are taken", {"most": most})
        return value

    return BeforeValidator(check)


Likely = Annotated[
    dict[Annotated[str, Field(max_length=LONGEST)], Annotated[float, Field(ge=0, le=1)]], Field(max_length=MOST)
]
"""An answer that is not certain: how likely each choice is."""


class Sent(BaseModel):
    """Something that a client sends: the fields that it has and no others."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _few(cls, value: Any) -> Any:
        if isinstance(value, dict) and len(value) > FIELDS:
            raise PydanticCustomError("too_long", "There are no {most} fields", {"most": len(value)})
        return value


class HistoryItem(Sent):
    """A question that was asked, and its answer."""

    query: str = Field(description="the name of the query", max_length=LONGEST, examples=["has feathers"])
    answer: Annotated[Annotated[str, Field(max_length=LONGEST)] | Likely | None, _at_most(MOST)] = Field(
        description="one of its choices, {choice: probability} where it is not certain, null for not known",
        examples=["yes", {"yes": 0.8, "no": 0.2}],
    )


History = Annotated[list[HistoryItem], FailFast(), _at_most(LONGEST_HISTORY)]


class NextRequest(Sent):
    """Everything that was asked and answered so far; the server keeps nothing of it."""

    history: History = Field(default_factory=list, description="in the order in which it was asked")
    top: int = Field(default=10, ge=0, le=100, description="how many of the best questions to rank")
    explanation: bool = Field(default=False, description="also the whole explanation so far, as Explanation.to_json")


class ReportRequest(Sent):
    """Everything that was asked and answered."""

    history: History = Field(default_factory=list, description="in the order in which it was asked")


class ExplainRequest(Sent):
    """Inputs to be classified: images as lists of rows, texts, or rows as lists or objects; null is not known."""

    inputs: list[Any] = Field(description="one or more inputs", min_length=1)


class Amount(BaseModel):
    """An amount of information."""

    nats: float
    bits: float


class Patch(BaseModel):
    """The pixels that a query reveals, counted from 0; its answer is written row by row, 1 for a lit pixel."""

    row: int
    column: int
    rows: int
    columns: int


class Thing(BaseModel):
    """One of the things that a question asks for together. The answer to the question is one of ``answers``, or
    ``unknown``, of each thing in this order, joined by a comma and a space."""

    name: str
    choices: list[str] = Field(description="what may be said of it")
    answers: list[str] = Field(description="the same, as it stands in an answer")
    unknown: str = Field(description="what stands in an answer where it is not known")


class Question(BaseModel):
    """A query: its name is what a history refers to it by."""

    name: str
    sentence: str
    choices: list[str] | None = Field(description="what may be answered; null where there are very many")
    n_choices: int
    patch: Patch | None
    things: list[Thing] | None = Field(default=None, description="where several things are asked for together")
    cost: float | None = Field(default=None, description="null where nobody has said what questions cost")


class Ranked(BaseModel):
    """A question that could be asked now, and what it is expected to tell."""

    name: str
    sentence: str
    gain: Amount


class Candidate(BaseModel):
    """A class and its probability."""

    model_config = ConfigDict(populate_by_name=True)
    label: str = Field(alias="class")
    probability: float


class Outlook(BaseModel):
    """An answer that may come: how probable it is, and what would be believed then."""

    answer: str
    probability: float
    then: list[Candidate]


class Why(BaseModel):
    """Why the question is asked."""

    gain: Amount
    sentence: str
    answers: list[Outlook] | None = Field(description="null where it is not cheap to try out each answer")


class NextResponse(BaseModel):
    """What is believed after a history, and what to ask next."""

    model: str
    n_asked: int
    prediction: str
    confidence: float
    posterior: dict[str, float] = Field(description="the probability of each class")
    entropy: Amount = Field(description="what is still open")
    question: Question | None = Field(description="null after the stop")
    stopped_because: str | None
    stopped_in_words: str | None
    warning: str | None = Field(description="after the stop: why not to trust the label, if so")
    ranked: list[Ranked] = Field(description="the best questions, best first")
    why: Why | None
    so_far: list[str] = Field(description="the answers so far, as sentences")
    exact_gains: bool = Field(description="whether gains are computed on all states and for all queries")
    explanation: dict[str, Any] | None = Field(description="as Explanation.from_json reads it, where it was asked for")


class Image(BaseModel):
    """What images a model takes: pixels above the threshold count as lit."""

    shape: tuple[int, int]
    patch: tuple[int, int]
    stride: tuple[int, int]
    threshold: float | None


class ModelInfo(BaseModel):
    """A model that can be asked."""

    name: str
    version: str = Field(description="which one it is; the header x-model-version of its answers says the same")
    summary: str
    kind: str = Field(description="of its queries: patches, concepts, words, columns")
    inputs: str = Field(description="what explain takes: images, texts or rows")
    classes: list[str]
    n_queries: int
    yes_no: bool = Field(description="whether every question is answered by yes or no")
    image: Image | None
    stopping: str
    exact_gains: bool


class ModelList(BaseModel):
    """The models of this server."""

    models: list[ModelInfo]


class ModelPage(ModelInfo):
    """A model with some of its queries."""

    queries: list[Question]
    offset: int
    next_offset: int | None = Field(description="where the next page begins, null on the last")


class Explained(BaseModel):
    """The explanation of one input."""

    explanation: dict[str, Any] = Field(description="as Explanation.from_json reads it")
    text: str = Field(description="the same in words")


class ExplainResponse(BaseModel):
    """One explanation for each input, in their order."""

    explanations: list[Explained]


class ProblemInfo(BaseModel):
    """Why a request was refused: which field, what it held, what to do."""

    status: int
    title: str
    field: str | None = None
    value: str | None = None
    remedy: str | None = None


class Health(BaseModel):
    """Whether the server can be asked."""

    status: str
    version: str | None = Field(description="null where the server wants a token and none was sent")
    models: list[str] | None = Field(description="null where the server wants a token and none was sent")
