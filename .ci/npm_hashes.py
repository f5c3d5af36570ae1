#!/usr/bin/env python3
"""Refuses a package-lock.json that does not determine every package: `npm ci` verifies the hashes
that are present, and installs an entry without one unseen."""

import json
import sys


def problem_of(entry):
    """Returns what is wrong with an entry of the lockfile, or None."""
    if "resolved" in entry:
        return "is not from the registry: `resolved` names another source"
    if not entry.get("integrity", "").startswith("sha512-"):
        return "has no SHA-512 hash: `integrity` is missing or weaker"
    return None


def main(path):
    with open(path, encoding="utf-8") as file:
        entries = json.load(file)["packages"]
    # The entry without a name is the project.
    problems = {name: problem_of(entry) for name, entry in entries.items() if name}
    found = [f"{path}: {name} {problem}" for name, problem in problems.items() if problem]
    if found:
        print("\n".join(found))
        sys.exit("Add the output of `npm view NAME@VERSION dist.integrity` to each of these "
                 "entries, or delete the entries of optional packages that are not used.")
    print(f"{path}: {len(problems)} packages, each with its hash")


main(sys.argv[1])
