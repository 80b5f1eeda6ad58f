"""Calls the tool "echo" through fastmcp."""

import asyncio
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport


async def main():
    transport = StdioTransport(command=sys.argv[1], args=sys.argv[2:])
    async with Client(transport, timeout=3) as client:
        result = await client.call_tool("echo", {"message": "hello"})
        print(result.content[0].text)


asyncio.run(main())
