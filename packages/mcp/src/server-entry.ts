import { faultSentences, hasHidden } from "@reins/kit";
import { z } from "zod";
import { McpError } from "./faults.ts";

const Named = z.object({ name: z.string().min(1), value: z.string() });

function isHeader({ name, value }: { name: string; value: string }): boolean {
  try {
    new Headers([[name, value]]);
    return true;
  } catch {
    return false;
  }
}

/** A program that speaks MCP over its input and output. */
const StdioServer = z.looseObject({
  name: z.string().min(1),
  command: z.string().min(1),
  args: z.array(z.string()).default([]),
  env: z.array(Named).default([]),
});
export type StdioServer = z.infer<typeof StdioServer>;

/** A server that speaks MCP over HTTP; `sse` is the way of 2024. */
const HttpServer = z.looseObject({
  type: z.enum(["http", "sse"]),
  name: z.string().min(1),
  url: z.url({ protocol: /^https?$/ }),
  headers: z.array(Named.refine(isHeader, "no header that HTTP could carry")).default([]),
});
export type HttpServer = z.infer<typeof HttpServer>;

/** An MCP server as ACP's `session/new` declares it; members that ACP does not know are kept. */
export type McpServer = StdioServer | HttpServer;

/** Whether a server is reached over HTTP. */
export function isHttpServer(server: McpServer): server is HttpServer {
  return "url" in server && "type" in server;
}

/** Reads the declaration of a server; throws when it is none that can be governed. */
export function readServer(declared: unknown): McpServer {
  const typed = typeof declared === "object" && declared !== null && Object.hasOwn(declared, "type");
  const read = (typed ? HttpServer : StdioServer).safeParse(declared);
  if (!read.success) {
    throw new McpError("invalid_server", `this is no MCP server: ${faultSentences(read.error, "it")}`, {
      cause: read.error,
    });
  }
  if (hasHidden(read.data.name)) {
    throw new McpError("invalid_server", "the name of an MCP server holds characters that cannot be seen");
  }
  return read.data;
}

/** What of a declaration is not about reaching the server, and goes on to the agent as it is. */
export function otherMembers(server: McpServer): Record<string, unknown> {
  const { type, command, args, env, url, headers, ...others } = server;
  return others;
}
