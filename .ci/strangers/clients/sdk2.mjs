// Calls the tool "echo" through the TypeScript SDK, version 2.
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: "c", version: "1" });
await client.connect(new StdioClientTransport({ command, args }));
const call = { name: "echo", arguments: { message: "hello" } };
const result = await client.callTool(call, { timeout: 3000 });
console.log(result.content[0].text);
await client.close();
