// Calls the tool "echo" through the TypeScript SDK, version 1.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: "c", version: "1" });
await client.connect(new StdioClientTransport({ command, args }));
const call = { name: "echo", arguments: { message: "hello" } };
const result = await client.callTool(call, undefined, { timeout: 3000 });
console.log(result.content[0].text);
await client.close();
