"""Requests made up from the description of the API: what comes back is what it says, and no request fails."""

import pytest
from hypothesis import HealthCheck, given, settings

from infopursuit.app.server.app import create_app

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed: pip install schemathesis")
from schemathesis.checks import not_a_server_error  # noqa: E402
from schemathesis.specs.openapi.checks import (  # noqa: E402
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
API = schemathesis.openapi.from_dict(create_app({}).openapi())
FITTING, OTHER = schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE
OPERATIONS = [found.ok() for found in API.get_all_operations()]
TRIED = [(one, mode) for one in OPERATIONS for mode in (FITTING, OTHER) if mode is FITTING or "{name}" in one.path]


@pytest.mark.parametrize(
    ("operation", "mode"), TRIED, ids=lambda part: getattr(part, "label", getattr(part, "value", ""))
)
def test_what_comes_back_is_described(client, operation, mode):
    """Requests that fit the description, and requests that do not; half of them to a model that is there."""
    names = ("animals", "texts")

    @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(case=operation.as_strategy(generation_mode=mode))
    def one(case):
        if "name" in (case.path_parameters or {}) and len(str(case.path_parameters["name"])) % 2 == 0:
            case.path_parameters["name"] = names[len(str(case.body)) % 2]
        answer = case.call(base_url=str(client.base_url))
        case.validate_response(answer, checks=CHECKS)

    one()


def test_every_route_says_what_may_go_wrong():
    for path, verbs in create_app({}).openapi()["paths"].items():
        for told in verbs.values():
            assert path in ("/healthz", "/readyz") or "401" in told["responses"], path
            assert "{name}" not in path or "404" in told["responses"], path
