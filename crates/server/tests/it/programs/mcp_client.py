"""A host of agents, with the official SDK: every tool listed, one life of a task by them.

Says on standard output what it sees, a line of JSON each; whoever started it acts on that and
writes a line when it has. Arguments: how to connect (a URL, or a command), the mode, the task.
"""

import asyncio
import json
import os
import sys

import httpx2
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

TOOLS = [
    "propose_task", "get_task", "wait_for_task", "amend_task", "cancel_task", "acquire_locks",
    "heartbeat", "release_locks", "claim_permit", "report_result", "explain_task",
]


def say(**facts):
    print(json.dumps(facts), flush=True)


async def hear():
    line = await asyncio.to_thread(sys.stdin.readline)
    assert line, "nobody is there any more"


async def call(client, tool, **arguments):
    result = await client.call_tool(tool, arguments)
    facts = result.structured_content
    last = result.content[-1].text
    assert last == f"next_action: {facts['next_action']}", result
    assert not result.is_error, facts
    return facts


async def opened(context, params):
    """A host that can open a page for its person, who looks and comes back."""
    from mcp.types import ElicitResult
    say(page=params.url)
    return ElicitResult(action="accept")


async def life(client, proposal):
    listed = await client.list_tools()
    assert [tool.name for tool in listed.tools] == TOOLS, listed
    say(listed=len(listed.tools), version=client.protocol_version)
    task = await call(client, "propose_task", task=proposal)
    say(proposed=task["id"])
    await hear()
    polls = 0
    while True:
        task = await call(client, "wait_for_task", task=task["id"], seconds=1)
        polls += 1
        say(polled=polls, state=task["state"], timed_out=task["timed_out"])
        await hear()
        if not task["timed_out"]:
            break
        assert polls < 60, "it was never answered"
    permit = (await call(client, "claim_permit", task=task["id"]))["permit"]
    await call(client, "heartbeat", execution=permit["execution"], leases=[permit["lease"]])
    await call(
        client, "report_result", execution=permit["execution"], lease=permit["lease"],
        outcome="finished", output="done",
    )
    task = await call(client, "get_task", task=task["id"])
    say(ended=task["state"], polls=polls)


async def over_http(url, token, mode, proposal, **more):
    headers = {"authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=90) as http:
        async with Client(streamable_http_client(url, http_client=http), mode=mode, **more) as client:
            await life(client, proposal)


async def over_stdio(command, mode, proposal, **more):
    how = StdioServerParameters(command=command, args=["mcp"], env=dict(os.environ))
    async with Client(stdio_client(how), mode=mode, **more) as client:
        await life(client, proposal)


async def main():
    where, mode, proposal = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    more = {"elicitation_callback": opened} if os.environ.get("OPENS_PAGES") else {}
    if where.startswith("http"):
        await over_http(where, os.environ["ADE_TOKEN"], mode, proposal, **more)
    else:
        await over_stdio(where, mode, proposal, **more)


asyncio.run(main())
