"""What schemathesis knows of this API beyond its document, and what it must not do.

Ids that it makes up name nothing. Every other one is replaced by an id of the same kind that an answer
has shown or that the seed left, of the caller's tenant or of the other, so that what stands behind the
404 is tried too. Where it follows links it knows the ids itself; there some bodies are given to it, since
nothing can be linked to what was refused.

It must not wait for a task that nobody moves, nor saw off its own branch: the admin and the token that
it calls with stay as they are.
"""

import os
import re
from collections import deque
from itertools import cycle

import schemathesis
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation.meta import TestPhase

KEPT = set(os.environ.get("ADE_KEPT", "").split())
# They stay open unless they are asked for no longer than this.
STREAMS = {"/v1/events", "/v1/tasks/{id}/logs"}
ID = re.compile(r"\b([a-z]{3,5})_[0-7][0-9a-hjkmnp-tv-z]{25}\b")
# Of each kind, the latest.
MOST = 40
RULE = "name: linked\nrequire: [{roles: [reviewer], min: 1}]\n"
CHANGE = {"resource": "service:linked", "action": "change", "irreversible": False, "summary": "x"}
ACCEPTED = {
    "/v1/tasks": {
        "title": "Deploy", "type": "deploy.service", "parameters": {},
        "resources": [{"resource": "service:linked", "mode": "exclusive"}],
        "plan": {"changes": [CHANGE]},
    },
    "/v1/policies": {"document": RULE},
    "/v1/webhooks": {"url": "https://hooks.example.com/ade", "events": ["task.*"]},
    "/v1/users": {"name": "Lin", "roles": ["reviewer"]},
}

known = {}
turn = cycle([True, False])


def learn(text):
    for found in ID.finditer(text):
        ids = known.setdefault(found[1], deque(maxlen=MOST))
        if found[0] not in KEPT and found[0] not in ids:
            ids.append(found[0])


def real(value):
    """The same, with every other id replaced by one that is known."""
    if isinstance(value, dict):
        return {name: real(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [real(inner) for inner in value]
    found = ID.fullmatch(value) if isinstance(value, str) else None
    ids = known.get(found[1]) if found else None
    if not ids or not next(turn):
        return value
    ids.rotate()
    return ids[0]


if os.environ.get("ADE_SEEDED"):
    with open(os.environ["ADE_SEEDED"], encoding="utf-8") as seeded:
        learn(seeded.read())


@schemathesis.hook
def before_call(context, case, kwargs):
    if case.meta and case.meta.phase.name == TestPhase.STATEFUL:
        accepted = ACCEPTED.get(case.operation.path) if case.method == "POST" else None
        if accepted and not case.meta.is_negative_at(ParameterLocation.BODY) and next(turn):
            case.body = accepted
    else:
        for part in ("path_parameters", "query", "body"):
            given = getattr(case, part)
            if isinstance(given, (dict, list)):
                setattr(case, part, real(given))
    # A draft that nobody has changed has the first version.
    if "If-Match" in (case.headers or {}) and next(turn):
        case.headers["If-Match"] = '"1"'
    if case.operation.path in STREAMS and "wait" not in (case.query or {}):
        case.query = {**(case.query or {}), "wait": "0s"}
    wait = (case.query or {}).get("wait")
    if isinstance(wait, str) and wait[:-1].isdigit():
        case.query["wait"] = "0s"
    if case.method != "GET" and case.path_parameters:
        for name, value in case.path_parameters.items():
            if value in KEPT:
                case.path_parameters[name] = "kept"


@schemathesis.hook
def after_call(context, case, response):
    if response.status_code < 300:
        learn(response.text[:100_000])
