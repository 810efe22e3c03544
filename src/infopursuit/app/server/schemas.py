"""Requests and responses, as the OpenAPI description has them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, FailFast, Field, model_validator
from pydantic_core import PydanticCustomError

# What is longer is refused before its parts are validated: the error of each part costs a hundred times its size.
MAX_TEXT, MAX_CHOICES, MAX_ITEMS, MAX_FIELDS = 1000, 100, 10_000, 16


def _check_length(value: Any, n: int) -> Any:
    if isinstance(value, (dict, list)) and len(value) > n:
        raise PydanticCustomError("too_long", "At most {n} entries are allowed", {"n": n})
    return value


Text = Annotated[str, Field(max_length=MAX_TEXT)]
SoftAnswer = Annotated[dict[Text, Annotated[float, Field(ge=0, le=1)]], Field(max_length=MAX_CHOICES)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Answer = Annotated[Text | Number | SoftAnswer | None, BeforeValidator(lambda value: _check_length(value, MAX_CHOICES))]


class Request(BaseModel):
    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _few(cls, value: Any) -> Any:
        return _check_length(value, MAX_FIELDS)


class HistoryItem(Request):
    query: Text = Field(description="the name of a query", examples=["has feathers"])
    answer: Answer = Field(
        description="one of its choices, a number where the question has `number`, {choice: probability} where it is "
        "not certain, null for unknown",
        examples=["yes", 148, {"yes": 0.8, "no": 0.2}],
    )
    applies: bool = Field(default=True, description="false beside null: the question does not apply; reports say so")


Known = Annotated[
    dict[Text, Annotated[bool, Field(strict=True)] | Text | Number | None],
    BeforeValidator(lambda value: _check_length(value, MAX_ITEMS)),
]
History = Annotated[list[HistoryItem], FailFast(), BeforeValidator(lambda value: _check_length(value, MAX_ITEMS))]


Language = Annotated[
    str,
    Field(
        max_length=35,
        pattern=r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*$",
        description="of texts in the response, such as de or fr-CA; English where it is not there. Answers stay as the "
        "model has them",
    ),
]


class CaseRequest(Request):
    history: History = Field(default_factory=list, description="everything asked so far, in its order")
    known: Known = Field(
        default_factory=dict,
        description="what was known before the first question, by query or column: it is not asked, and costs nothing",
        examples=[{"glucose": 148, "smoker": True}],
    )

    language: Language = "en"


class ReportRequest(CaseRequest):
    name: str = Field(default="", max_length=200, description="what the case is called in the report")


class WhyNotRequest(CaseRequest):
    label: Text = Field(description="a class that is not predicted")


class NextRequest(CaseRequest):
    later: Annotated[list[Text], Field(max_length=MAX_ITEMS)] = Field(
        default_factory=list,
        description="queries to ask later, in the order in which they were put aside: only when nothing else would be "
        "asked. They do not count",
    )
    top: int = Field(default=10, ge=0, le=100, description="how many of the best questions to rank")
    explanation: bool = Field(default=False, description="also the whole explanation so far, as Explanation.to_json")
    more: bool = Field(default=False, description="ask on after the stop: the question with the highest gain")


class ExplainRequest(Request):
    inputs: list[Any] = Field(description="images as lists of rows, texts, or rows; null is unknown", min_length=1)


class FitRequest(Request):
    table: str = Field(description="CSV or TSV with a header; a row is an example", max_length=5 * 2**20)
    label: Text = Field(description="the column of the classes")
    language: Language = "en"


class Amount(BaseModel):
    nats: float
    bits: float


class Patch(BaseModel):
    """The pixels that a query reveals, counted from 0; its answer is written row by row, 1 for a lit pixel. Of grey
    pixels it has the level, of colours that of red, green and blue, with dashes between them where there are more than
    ten levels."""

    row: int
    column: int
    rows: int
    columns: int
    levels: int = Field(description="values of a pixel: 2 for black and white, else grey levels", default=2)
    channels: int = Field(description="3 for colours, else 1", default=1)


class Component(BaseModel):
    """One of several variables of a question. The answer to the question is one of ``answers``, or ``unknown``, of each
    in this order, joined by a comma and a space."""

    name: str
    choices: list[str]
    answers: list[str]
    unknown: str


class NumberInfo(BaseModel):
    """What a number is like: its range in training (dates as text), which answers may leave, and its unit."""

    low: float | str
    high: float | str
    unit: str
    whole: bool
    date: bool
    thresholds: list[float] | list[str] = Field(description="between the cells that finite models see")


class Question(BaseModel):
    name: str
    column: str = Field(description="what it is about: `known` may name it")
    sentence: str
    choices: list[str] | None = Field(description="the possible answers; null where there are very many")
    labels: list[str] | None = Field(description="the choices in the language of the request")
    n_choices: int
    patch: Patch | None
    components: list[Component] | None = Field(
        default=None, description="where several variables are asked for together"
    )
    number: NumberInfo | None = Field(default=None, description="where the answer is a number, or a date as text")
    cost: float | None = Field(default=None, description="null without query costs")


class Ranked(BaseModel):
    name: str
    sentence: str
    gain: Amount


class Candidate(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    label: str = Field(alias="class")
    probability: float


class Outlook(BaseModel):
    """A possible answer, its probability, and the posterior after it."""

    answer: str
    label: str = Field(description="the answer in the language of the request")
    probability: float
    then: list[Candidate]


class Why(BaseModel):
    gain: Amount
    sentence: str
    answers: list[Outlook] | None = Field(description="null where looking ahead is expensive")


class NextResponse(BaseModel):
    model: str
    n_asked: int
    title: str = Field(description="what is to be decided")
    summary: str = Field(description="the outcome so far and what spoke for it most, in one sentence")
    prediction: str
    confidence: float
    posterior: dict[str, float] = Field(description="the probability of each class")
    entropy: Amount = Field(description="of the posterior")
    question: Question | None = Field(description="null after the stop, unless `more` was wanted")
    stop_reason: str | None
    stopped_in_words: str | None
    warning: str | None = Field(description="after the stop: why not to trust the label, if so")
    ranked: list[Ranked] = Field(description="the best questions, best first")
    why: Why | None
    so_far: list[str] = Field(description="the answers so far, as sentences")
    calibrated: bool = Field(description="whether the posterior was calibrated, or is that of a stated model")
    exact_gains: bool = Field(description="whether gains are computed on all states and for all queries")
    explanation: dict[str, Any] | None = Field(description="as Explanation.from_json reads it, where it was asked for")


class Against(BaseModel):
    """An answer that counts against a class. place: where it is in what was known and then asked."""

    place: int
    query: str
    weight: Amount = Field(description="by how much it lowers the log odds of the class against the prediction")


class Changed(BaseModel):
    """An answer as it is and as it would have to be."""

    place: int
    query: str
    said: str
    answer: str | float | None = Field(description="as a history takes it")
    in_words: str


class WhyNotResponse(BaseModel):
    label: str
    probability: float
    prediction: str
    sentences: list[str]
    against: list[Against] = Field(description="the strongest first")
    changes: list[Changed] = Field(description="the fewest answers whose change leads to the class, all others kept")
    then: dict[str, float] | None = Field(description="the posterior after these changes; null without any")


class RemainingResponse(BaseModel):
    """From simulated continuations; null where the model does not predict answers, and for images."""

    median: int | None
    low: int | None = Field(description="with high: the interval that holds 80 % of the continuations")
    high: int | None
    sentence: str | None


class Image(BaseModel):
    shape: tuple[int, int]
    patch: tuple[int, int]
    stride: tuple[int, int]
    threshold: float | None = Field(description="pixels above it are lit")
    levels: int = Field(description="values of a pixel: 2 for black and white, else grey levels", default=2)
    channels: int = Field(description="3 for colours, else 1", default=1)


class ModelInfo(BaseModel):
    name: str
    version: str = Field(description="the same as in the header x-model-version of its answers")
    summary: str
    kind: str = Field(description="of its queries: patches, concepts, words, columns")
    inputs: str = Field(description="what explain takes: images, texts or rows")
    classes: list[str]
    n_queries: int
    yes_no: bool = Field(description="whether every question is answered by yes or no")
    image: Image | None
    stopping: str
    exact_gains: bool
    mode: str = Field(description="case: rows of a table, one at a time; game: anything else")
    label_name: str = Field(description="what the classes are values of; empty where nobody said")


class ModelList(BaseModel):
    models: list[ModelInfo]
    loading: list[str] = Field(description="names of models that are still being loaded")
    fit: bool = Field(description="whether POST /v1/fit takes tables")


class ClassFigures(BaseModel):
    """How well one class is told from the others, on held-out rows."""

    model_config = ConfigDict(populate_by_name=True)
    label: str = Field(alias="class")
    rows: float | None = Field(description="held-out rows of the class, of weighted rows their weight")
    recall: float | None = Field(description="the share of them that were predicted so; null where there are none")
    precision: float | None = Field(
        description="the share of right ones among the predictions of the class; null where it was never predicted"
    )


class HeldOutFigures(BaseModel):
    """Figures of rows that the model had not seen and on which nothing was chosen."""

    n_rows: int
    accuracy: float
    low: float = Field(description="with high: the 95 % interval of the accuracy")
    high: float
    n_questions: float = Field(description="on average")
    log_loss: float = Field(description="at the stop, in nats")
    confidence: float = Field(description="the mean probability of the predicted class")
    calibration_error: float = Field(description="the expected calibration error at the stop")
    auc: float | None = Field(
        description="the area under the ROC curve; of several classes the mean of one against the rest"
    )
    classes: list[ClassFigures] = Field(description="empty where there are more than 50 classes")
    confusion: list[list[float]] | None = Field(
        description="held-out rows of each true class (row) by the predicted class (column), in the order of "
        "`classes`; null where there are more than 12 classes"
    )


class Performance(BaseModel):
    """How often a model is right."""

    sentence: str = Field(
        description="in the language of the request",
        examples=["The model is right in 82 % (76 to 87 %) of 300 rows that it had not seen."],
    )
    figures: HeldOutFigures | None = Field(description="null where nothing was measured, as on too few rows")


class ModelPage(ModelInfo):
    performance: Performance | None = Field(
        description="how often it is right; null for models that were not fitted on the rows of a table"
    )
    queries: list[Question]
    offset: int
    next_offset: int | None = Field(description="where the next page begins, null on the last")


class FitResponse(BaseModel):
    model: ModelInfo = Field(description="under a name that nobody can guess; it is kept for an hour")
    performance: Performance | None = Field(description="how often it is right; null where rows were taken as facts")
    told: str = Field(description="what `infopursuit fit` says of it, such as its accuracy on held-out rows")


class Explained(BaseModel):
    explanation: dict[str, Any] = Field(description="as Explanation.from_json reads it")
    text: str = Field(description="the same in words")


class ExplainResponse(BaseModel):
    explanations: list[Explained] = Field(description="one for each input, in their order")


class Health(BaseModel):
    """Null without the token where one is required."""

    status: str
    version: str | None
    models: list[str] | None


class Ready(BaseModel):
    status: str = Field(description="ready, loading, or failed where a model could not be loaded")


class ProblemInfo(BaseModel):
    """Why a request was refused: which field, its value, and what to do (RFC 9457)."""

    status: int
    title: str
    field: str | None = None
    value: str | None = None
    remedy: str | None = None


Errors = dict[int | str, dict[str, Any]]
ERRORS: Errors = {
    status: {"description": text, "content": {"application/problem+json": {"schema": ProblemInfo.model_json_schema()}}}
    for status, text in {
        400: "not HTTP, or the body cannot be read", 401: "a token is required", 404: "no such model",
        408: "the request took too long to arrive", 409: "answers that are impossible together under the model",
        413: "the body is too long", 421: "unknown host name", 422: "a value in the request is invalid",
        503: "too many requests, or the model is loading; see Retry-After", 504: "the time limit was reached",
    }.items()
}  # fmt: skip
COMMON_ERRORS: Errors = {status: ERRORS[status] for status in ERRORS if status in (400, 401, 408, 421, 503)}
