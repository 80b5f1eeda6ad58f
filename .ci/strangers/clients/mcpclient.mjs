// Calls the tool "echo" through mcp-client.
import { MCPClient } from "mcp-client";

const [command, ...args] = process.argv.slice(2);
const client = new MCPClient({ name: "c", version: "1" });
await client.connect({ type: "stdio", command, args });
const call = { name: "echo", arguments: { message: "hello" } };
const result = await client.callTool(call, { requestOptions: { timeout: 3000 } });
console.log(result.content[0].text);
await client.close();
