"""The description of the server in OpenAPI, made from the forms of the messages."""

from typing import Any

import msgspec

from sapo import __version__
from sapo.serve import messages

REFERENCE = "#/components/schemas/{name}"
POSTS = {
    "tag": ("Tag text or tokens", messages.TagRequest, messages.SentencesAnswer),
    "nbest": ("Find the n best taggings", messages.NBestRequest, messages.SentencesAnswer),
    "marginals": ("Give the probability of each label", messages.MarginalsRequest, messages.SentencesAnswer),
    "explain": ("Explain a tag", messages.ExplainRequest, messages.ExplainAnswer),
}
GETS = {
    "/models": ("List the models", messages.ModelsAnswer),
    "/models/{name}": ("Describe a model", messages.ModelAnswer),
    "/health": ("Say that the server runs", messages.HealthAnswer),
    "/ready": ("Say whether the server takes requests", messages.ReadyAnswer),
}
REFUSALS = {
    401: "The token is missing or wrong.",
    404: "There is no such model.",
    408: "The request did not arrive in time.",
    413: "The body is too large.",
    415: "The body is not application/json.",
    422: "The request has a mistake, or asks for too much.",
    500: "The server has a mistake.",
    503: "The server has too many requests; try again.",
    504: "The answer took too long.",
}


def document(names: list[str]) -> dict[str, Any]:
    """Return the description of a server with models of these names."""
    forms = [form for _, *both in POSTS.values() for form in both] + [form for _, form in GETS.values()]
    _, schemas = msgspec.json.schema_components([*forms, messages.ErrorAnswer], ref_template=REFERENCE)
    paths: dict[str, Any] = {}
    for kind, (summary, form, answer) in POSTS.items():
        paths[f"/{kind}"] = {"post": _post(f"{summary}, with the first model", form, answer)}
        paths[f"/models/{{name}}/{kind}"] = {"post": _post(summary, form, answer), "parameters": [_name(names)]}
    for path, (summary, answer) in GETS.items():
        refused = (401, 404) if "{" in path else (401,) if path == "/models" else ()
        paths[path] = {"get": {"summary": summary, "responses": _responses(answer, refused)}}
        if "{" in path:
            paths[path]["parameters"] = [_name(names)]
    text = {"description": "Counts in the text format of Prometheus.", "content": {"text/plain": {"schema": {}}}}
    paths["/metrics"] = {"get": {"summary": "Give the metrics", "responses": {"200": text, "401": _refusal(401)}}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "sapo serve", "version": __version__, "description": "Tag text with trained models."},
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{}, {"token": []}],  # a token only where the server was started with one
    }


def _post(summary: str, form: type, answer: type) -> dict[str, Any]:
    body = {"required": True, "content": {"application/json": {"schema": _schema(form)}}}
    return {"summary": summary, "requestBody": body, "responses": _responses(answer, tuple(REFUSALS))}


def _responses(answer: type, refused: tuple[int, ...]) -> dict[str, Any]:
    good = {"description": "The answer.", "content": {"application/json": {"schema": _schema(answer)}}}
    return {"200": good, **{str(status): _refusal(status) for status in refused}}


def _refusal(status: int) -> dict[str, Any]:
    content = {"application/json": {"schema": _schema(messages.ErrorAnswer)}}
    return {"description": REFUSALS[status], "content": content}


def _schema(form: type) -> dict[str, str]:
    return {"$ref": REFERENCE.format(name=form.__name__)}


def _name(names: list[str]) -> dict[str, Any]:
    return {"name": "name", "in": "path", "required": True, "schema": {"type": "string", "enum": names}}
