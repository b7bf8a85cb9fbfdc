// The least that an MCP server can be: it answers every request at once.
let held = "";
process.stdin.setEncoding("utf8").on("data", (chunk: string) => {
  const lines = (held + chunk).split("\n");
  held = lines.pop() ?? "";
  for (const line of lines) {
    const { id, method } = JSON.parse(line);
    if (id !== undefined)
      process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result: resultOf(method) })}\n`);
  }
});

function resultOf(method: string): unknown {
  if (method === "initialize") {
    const serverInfo = { name: "echo", version: "1" };
    return { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo };
  }
  if (method === "tools/list")
    return { tools: [{ name: "echo", description: "Echoes", inputSchema: { type: "object" } }] };
  return { content: [{ type: "text", text: "here you are" }] };
}
