"""Calls the tool "echo" through the Python SDK."""

import asyncio
import datetime
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main():
    server = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:])
    async with stdio_client(server) as (reading, writing):
        limit = datetime.timedelta(seconds=3)
        async with ClientSession(reading, writing, read_timeout_seconds=limit) as session:
            await session.initialize()
            result = await session.call_tool("echo", {"message": "hello"})
            print(result.content[0].text)


asyncio.run(main())
