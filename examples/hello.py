"""Proposes a change, waits for the decision, applies it and reports. Needs ADE_URL and ADE_TOKEN."""

import json
import os
import sys
import urllib.request


def call(path, body=None):
    request = urllib.request.Request(os.environ["ADE_URL"] + path, body and json.dumps(body).encode())
    request.add_header("Authorization", "Bearer " + os.environ["ADE_TOKEN"])
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request) as response:
        return json.load(response)


step = {"resource": "service:shop", "action": "change", "irreversible": False, "summary": "to 1.5"}
task = call("/v1/tasks", {"title": "Deploy the shop", "type": "deploy.service", "submit": True,
                          "parameters": {"version": "1.5"}, "plan": {"changes": [step]},
                          "resources": [{"resource": "service:shop"}]})
print("review:", task["url"], flush=True)
while not task["is_decided"]:
    task = call(f"/v1/tasks/{task['id']}?wait=55s&until=decided")
if task["state"] != "APPROVED":
    sys.exit(f"{task['decision']['outcome']}: {task['decision']['reason']}")
claim = call(f"/v1/tasks/{task['id']}/claim", {"begin": True, "wait": "55s"})
permit = claim["permit"] or sys.exit(claim["blocked_by"][0]["reason"])
print("deploying version", permit["task"]["parameters"]["version"])
report = {"lease_id": permit["lease_id"], "outcome": "succeeded"}
print(call(f"/v1/executions/{permit['execution_id']}/finish", report)["outcome"])
