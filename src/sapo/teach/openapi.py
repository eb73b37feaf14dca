"""The description of the server in OpenAPI, made from the table of paths and the forms of the messages."""

from typing import Any

import msgspec

from sapo import __version__
from sapo.serve.openapi import REFERENCE
from sapo.teach import messages
from sapo.teach.paths import EVENTS, EXPORT, GETS, POSTS, Path

REFUSALS = {
    401: "The token is missing or wrong.",
    403: "The request comes from another site.",
    413: "The body is too large.",
    415: "The body is not application/json.",
    422: "The request has a mistake.",
    500: "The server has a mistake.",
    503: "The server has too many requests; try again.",
    504: "The answer took too long.",
}


def document() -> dict[str, Any]:
    """Return the description."""
    everything = [*GETS.values(), *POSTS.values()]
    forms = [one.form for one in POSTS.values()] + [one.answer for one in everything] + [messages.ErrorAnswer]
    _, schemas = msgspec.json.schema_components(forms, ref_template=REFERENCE)
    paths: dict[str, Any] = {name: {"get": _get(name, path)} for name, path in GETS.items()}
    for name, path in POSTS.items():
        body = {"required": True, "content": {"application/json": {"schema": _schema(path.form)}}}
        paths[name] = {"post": {"summary": path.summary, "requestBody": body, "responses": _responses(path.answer)}}
    file = {"description": "The file.", "content": {"application/octet-stream": {"schema": {}}}}
    events = {"description": "Server-sent events.", "content": {"text/event-stream": {"schema": {}}}}
    for name, form, answer in ((EXPORT, messages.ExportForm, file), (EVENTS, messages.EventsForm, events)):
        refused = {str(status): _refusal(status) for status in REFUSALS}
        paths[name] = {"get": {"parameters": _parameters(form), "responses": {"200": answer, **refused}}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "sapo teach", "version": __version__, "description": "Teach a tagger."},
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{}, {"token": []}],  # a token only where the server was started with one
    }


def _get(name: str, path: Path) -> dict[str, Any]:
    parameters = _parameters(path.form)
    if "{id}" in name:
        number = {"type": "integer", "minimum": 1, "maximum": 10**15 - 1}
        parameters.append({"name": "id", "in": "path", "required": True, "schema": number})
    return {"summary": path.summary, "parameters": parameters, "responses": _responses(path.answer)}


def _parameters(form: type) -> list[dict[str, Any]]:
    """Return the fields of a form as parameters of a query."""
    (reference,), schemas = msgspec.json.schema_components([form], ref_template=REFERENCE)
    schema = schemas[reference["$ref"].rpartition("/")[2]]
    required = schema.get("required", ())
    return [
        {"name": name, "in": "query", "required": name in required, "schema": _plain(one)}
        for name, one in schema["properties"].items()
    ]


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a parameter, which is left out rather than null."""
    kinds = [one for one in schema.get("anyOf", ()) if one != {"type": "null"}]
    return {**kinds[0]} if kinds else {key: value for key, value in schema.items() if key != "default" or value}


def _responses(answer: Any) -> dict[str, Any]:
    good = {"description": "The answer.", "content": {"application/json": {"schema": _schema(answer)}}}
    return {"200": good, **{str(status): _refusal(status) for status in REFUSALS}}


def _refusal(status: int) -> dict[str, Any]:
    content = {"application/json": {"schema": _schema(messages.ErrorAnswer)}}
    return {"description": REFUSALS[status], "content": content}


def _schema(form: Any) -> dict[str, str]:
    return {"$ref": REFERENCE.format(name=form.__name__)}
