"""Verifies signatures independently: with the official library for `v1`, and with another
implementation of Ed25519 for `v1a`. It takes the cases as JSON and reports unexpected results."""

import base64
import json
import sys

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from standardwebhooks.webhooks import Webhook, WebhookVerificationError


def by_library(case):
    headers = {
        "webhook-id": case["id"],
        "webhook-timestamp": case["timestamp"],
        "webhook-signature": case["signature"],
    }
    try:
        Webhook(case["key"]).verify(case["body"], headers)
    except WebhookVerificationError:
        return False
    return True


def by_pair(case):
    key = Ed25519PublicKey.from_public_bytes(base64.b64decode(case["key"].removeprefix("whpk_")))
    text = f"{case['id']}.{case['timestamp']}.{case['body']}".encode()
    for signature in case["signature"].split(" "):
        version, _, value = signature.partition(",")
        try:
            if version == "v1a":
                key.verify(base64.b64decode(value), text)
                return True
        except InvalidSignature:
            continue
    return False


cases = json.loads(sys.argv[1])
for number, case in enumerate(cases):
    verify = by_library if case["key"].startswith("whsec_") else by_pair
    if verify(case) != case["good"]:
        sys.exit(f"case {number} is {not case['good']}: {case}")
print(f"{len(cases)} verified as expected")
