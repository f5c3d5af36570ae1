"""An agent host built with the official SDK and without a model: it follows only what the tools return.

After its first call it makes the call that `next_action` names, with the ids of earlier results. It
writes each result to standard output as a line of JSON, and continues after a line of input.
Arguments: how to connect (a URL or a command), the mode, the request, and what the agent decides
on its own, by tool.
"""

import asyncio
import json
import os
import sys

import httpx2
import jsonschema
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

CALLS_MAX = 60


def say(**facts):
    print(json.dumps(facts), flush=True)


async def hear():
    line = await asyncio.to_thread(sys.stdin.readline)
    assert line, "standard input was closed"


async def call(client, tool, arguments):
    result = await client.call_tool(tool.name, arguments)
    facts = result.structured_content
    jsonschema.validate(facts, tool.output_schema)
    [text] = result.content
    assert facts["next_action"]["message"] in text.text, result
    assert not result.is_error, facts
    return facts


async def opened(context, params):
    """Reports the page that the host should open, and accepts at once."""
    from mcp.types import ElicitResult
    say(page=params.url)
    return ElicitResult(action="accept")


async def follow(client, request, own):
    listed = (await client.list_tools()).tools
    tools = {tool.name: tool for tool in listed}
    for tool in listed:
        assert tool.title and tool.description and tool.output_schema, tool
    say(listed=list(tools), version=client.protocol_version)
    await hear()
    known, name, arguments = {}, "request_approval", request
    for _ in range(CALLS_MAX):
        facts = await call(client, tools[name], arguments)
        known |= facts | (facts.get("permit") or {})
        say(called=name, facts=facts)
        await hear()
        name = facts["next_action"].get("tool")
        if name is None:
            return
        assert name in tools, facts
        needed = tools[name].input_schema["required"]
        arguments = {one: known[one] for one in needed if one in known} | own.get(name, {})
    raise AssertionError("the tools lead to no end")


async def over_http(url, token, mode, *run, **more):
    headers = {"authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=90) as http:
        async with Client(streamable_http_client(url, http_client=http), mode=mode, **more) as client:
            await follow(client, *run)


async def over_stdio(command, mode, *run, **more):
    how = StdioServerParameters(command=command, args=["mcp"], env=dict(os.environ))
    async with Client(stdio_client(how), mode=mode, **more) as client:
        await follow(client, *run)


async def main():
    where, mode, *run = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), json.loads(sys.argv[4])
    more = {"elicitation_callback": opened} if os.environ.get("OPENS_PAGES") else {}
    if where.startswith("http"):
        await over_http(where, os.environ["ADE_TOKEN"], mode, *run, **more)
    else:
        await over_stdio(where, mode, *run, **more)


asyncio.run(main())
