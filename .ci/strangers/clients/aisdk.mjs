// Calls the tool "echo" through the AI SDK.
import { experimental_createMCPClient as createClient } from "@ai-sdk/mcp";
import { Experimental_StdioMCPTransport as Transport } from "@ai-sdk/mcp/mcp-stdio";

const [command, ...args] = process.argv.slice(2);
const client = await createClient({ transport: new Transport({ command, args }) });
const tools = await client.tools();
const options = { messages: [], toolCallId: "1", abortSignal: AbortSignal.timeout(3000) };
const result = await tools.echo.execute({ message: "hello" }, options);
console.log(result.content[0].text);
await client.close();
