// Calls the tool "echo" through LangChain's adapters.
import { MultiServerMCPClient } from "@langchain/mcp-adapters";

const [command, ...args] = process.argv.slice(2);
const servers = { s: { transport: "stdio", command, args } };
const client = new MultiServerMCPClient({ mcpServers: servers, defaultToolTimeout: 3000 });
const tools = await client.getTools();
const echo = tools.find((tool) => tool.name.endsWith("echo"));
console.log(await echo.invoke({ message: "hello" }));
await client.close();
