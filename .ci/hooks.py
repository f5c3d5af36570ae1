"""What schemathesis must not do: wait for a task that nobody moves, and saw off its own branch.

It uses every id that it sees, also those of the admin and the token it calls with.
"""

import os

import schemathesis

KEPT = set(os.environ.get("ADE_KEPT", "").split())
# They stay open unless they are asked for no longer than this.
STREAMS = {"/v1/events", "/v1/tasks/{id}/logs"}


@schemathesis.hook
def before_call(context, case, kwargs):
    if case.operation.path in STREAMS and "wait" not in (case.query or {}):
        case.query = {**(case.query or {}), "wait": "0s"}
    wait = (case.query or {}).get("wait")
    if isinstance(wait, str) and wait[:-1].isdigit():
        case.query["wait"] = "0s"
    if case.method != "GET" and case.path_parameters:
        for name, value in case.path_parameters.items():
            if value in KEPT:
                case.path_parameters[name] = "kept"
