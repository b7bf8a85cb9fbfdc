import type { Client, Tool as McpTool } from "@modelcontextprotocol/client";
import { isObject, type JsonObject } from "../acp/message.ts";
import type { Tool } from "../tools/tool.ts";
import { ToolError } from "../tools/tool-error.ts";

const TIMEOUT_MS = 300_000;
const MAX_DESCRIPTION = 2_000;
const MAX_NAME = 64;

/** What the agent calls a tool of a server; models take no other signs than these. */
function mcpToolName(server: string, tool: string): string {
  return `mcp__${server}__${tool}`.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, MAX_NAME);
}

/** A tool of a server as one of the agent's own: asked about like any other, and carried out by the server. */
export function mcpTool(server: string, client: Pick<Client, "callTool">, tool: McpTool): Tool {
  const name = mcpToolName(server, tool.name);
  return {
    name,
    description: (tool.description ?? "").slice(0, MAX_DESCRIPTION),
    parameters: { ...tool.inputSchema },
    kind: "other",
    // What a server says of its tools is a claim, and no reason to use them while planning.
    isReadOnly: false,
    isInner: false,
    call(given) {
      if (!isObject(given)) throw new ToolError("malformed", `the arguments of ${name} are no object`);
      return {
        title: `${server}: ${tool.name}`,
        prepare: async () => ({}),
        async perform({ signal }) {
          const result = await client.callTool(
            { name: tool.name, arguments: given },
            { signal, timeout: TIMEOUT_MS },
          );
          return { text: textOf(result), isError: result.isError === true };
        },
      };
    },
  };
}

function textOf({
  content,
  structuredContent,
}: {
  content: readonly unknown[];
  structuredContent?: unknown;
}): string {
  const texts = content.filter(isObject).map(blockText);
  if (texts.length > 0) return texts.join("\n");
  return structuredContent === undefined ? "(nothing)" : JSON.stringify(structuredContent);
}

function blockText(block: JsonObject): string {
  if (typeof block.text === "string") return block.text;
  if (isObject(block.resource) && typeof block.resource.text === "string") return block.resource.text;
  return `[${String(block.type)}]`;
}
