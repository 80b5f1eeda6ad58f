// Calls the tool "echo" through the MCP servers of OpenAI's agents.
import { MCPServerStdio } from "@openai/agents-core";

const [command, ...args] = process.argv.slice(2);
const server = new MCPServerStdio({ command, args, timeout: 3000, clientSessionTimeoutSeconds: 3 });
await server.connect();
const content = await server.callTool("echo", { message: "hello" });
console.log(content[0].text);
await server.close();
