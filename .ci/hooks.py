"""Schemathesis hooks for what the OpenAPI document does not say about the API.

Generated ids do not exist. Every second one is replaced by an existing id of the same kind, from a
response or from the seed data of either tenant, so that not every request ends with a 404. In the
stateful phase, links provide the ids; there, every second body is replaced by a valid one, because a
refused request yields no links.

Requests never wait, and they never change the admins and tokens that schemathesis itself uses.
"""

import os
import re
from collections import deque
from itertools import cycle

import schemathesis
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation.meta import TestPhase

# Ids of the users and tokens that requests must not change.
KEPT = set(os.environ.get("ADE_KEPT", "").split())
# Streams stay open unless the request sets `wait`.
STREAMS = {"/v1/events", "/v1/tasks/{id}/logs"}
ID = re.compile(r"\b([a-z]{3,5})_[0-7][0-9a-hjkmnp-tv-z]{25}\b")
# How many ids of each kind are remembered.
IDS_PER_KIND = 40
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
every_second = cycle([True, False])


def learn(text):
    """Remembers all ids in a text, except the protected ones."""
    for found in ID.finditer(text):
        ids = known.setdefault(found[1], deque(maxlen=IDS_PER_KIND))
        if found[0] not in KEPT and found[0] not in ids:
            ids.append(found[0])


def with_known_ids(value):
    """Returns the value with every second id replaced by a known one."""
    if isinstance(value, dict):
        return {name: with_known_ids(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [with_known_ids(inner) for inner in value]
    found = ID.fullmatch(value) if isinstance(value, str) else None
    ids = known.get(found[1]) if found else None
    if not ids or not next(every_second):
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
        if accepted and not case.meta.is_negative_at(ParameterLocation.BODY) and next(every_second):
            case.body = accepted
    else:
        for part in ("path_parameters", "query", "body"):
            given = getattr(case, part)
            if isinstance(given, (dict, list)):
                setattr(case, part, with_known_ids(given))
    # An unchanged draft has version 1.
    if "If-Match" in (case.headers or {}) and next(every_second):
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
