// Calls the tool "echo" through mcp-use.
import { MCPClient } from "mcp-use";

const [command, ...args] = process.argv.slice(2);
const client = MCPClient.fromDict({ mcpServers: { s: { command, args } } });
const session = await client.createSession("s");
const result = await session.callTool("echo", { message: "hello" }, { timeout: 3000 });
console.log(result.content[0].text);
await client.closeAllSessions();
