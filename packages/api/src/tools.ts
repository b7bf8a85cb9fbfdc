import { z } from "zod";
import { operation } from "./operation.ts";
import { Hash, LongLimit, Moment, Name, named, PathName } from "./schema.ts";

const SearchStrategy = z.enum(["bm25", "regex", "semantic", "host"]);

/** Whether a tool is in the prompt, was found by a search, or waits for one. */
const ToolState = z.enum(["loaded", "promoted", "deferred"]);

/** A tool that a session may use. */
export const SessionTool = named(
  "SessionTool",
  z.looseObject({
    name: z.string().describe("what the model calls it by"),
    source: z
      .string()
      .optional()
      .describe("the MCP server, host or client that offers it; absent for the agent's own"),
    label: z.string().optional().describe("its name at its source, where it differs"),
    description: z.string(),
    state: ToolState,
    tokens: z.int().describe("about how many it takes in a prompt"),
    score: z.number().optional().describe("how well it matches the query"),
    why: z.string().optional().describe("which words of the query were found where"),
  }),
);
export type SessionTool = z.infer<typeof SessionTool>;

/** The tools of a session. */
export const SessionTools = named(
  "SessionTools",
  z.looseObject({
    tools: z.array(SessionTool),
    total: z.int().describe("how many the session may use"),
    counts: z.looseObject({ loaded: z.int(), promoted: z.int(), deferred: z.int() }),
    strategy: SearchStrategy.optional().describe("how the query was searched"),
    diagnostic: z.string().optional().describe("what went wrong, or why there is nothing"),
  }),
);
export type SessionTools = z.infer<typeof SessionTools>;

/** Operations on the tools of sessions. */
export const toolOperations = {
  listSessionTools: operation({
    id: "list_session_tools",
    method: "GET",
    path: "/v1/sessions/{id}/tools",
    summary:
      "Lists the tools that a session of the native agent may use, or those that match a query, best first, at most 20. It promotes none.",
    audience: "principal",
    params: z.strictObject({ id: PathName }),
    query: z.strictObject({
      query: z.string().min(1).max(2_000).optional(),
      strategy: SearchStrategy.optional().describe("the configured one when absent"),
      limit: z.coerce.number().int().min(1).max(10_000).default(1_000),
    }),
    answer: SessionTools,
    problems: ["not_found"],
  }),
} as const;

/** A tool of an MCP server as it was pinned. */
export const ToolPin = named(
  "ToolPin",
  z.looseObject({
    server: Hash.describe("the server, by the command that starts it or the address where it is reached"),
    origin: z.string().describe("that command or address, without secrets"),
    tool: z.string(),
    hash: Hash.describe("SHA-256 of the tool's definition: all but its icons and _meta"),
    verdict: z
      .string()
      .optional()
      .describe("the entry of the verdict that accepted it; absent where it was pinned at first sight"),
    pinned_at: Moment,
  }),
);
export type ToolPin = z.infer<typeof ToolPin>;

const ToolPins = named(
  "ToolPins",
  z.looseObject({
    pins: z.array(ToolPin).describe("by server and tool"),
    next: z.string().optional().describe("`after` of the next page; absent on the last"),
  }),
);

const PinFilter = {
  server: z
    .string()
    .regex(/^[0-9a-f]{64}$/, "64 hexadecimal digits")
    .optional(),
  tool: Name.optional().describe("with a server: only this tool of it"),
};

/** Operations on the pinned tools of MCP servers. */
export const mcpOperations = {
  listToolPins: operation({
    id: "list_tool_pins",
    method: "GET",
    path: "/v1/mcp/pins",
    summary: "Lists the tools of MCP servers as the caller's tenant pinned them.",
    audience: "person",
    query: z.strictObject({ ...PinFilter, after: z.string().max(4_096).optional(), limit: LongLimit }),
    answer: ToolPins,
  }),
  resetToolPins: operation({
    id: "reset_tool_pins",
    method: "DELETE",
    path: "/v1/mcp/pins",
    summary:
      "Removes pins of the caller's tenant: those of a server, or of one of its tools. They are pinned anew when they are next listed.",
    audience: "admin",
    query: z.strictObject({ server: PinFilter.server.unwrap(), tool: PinFilter.tool }),
    answer: z.looseObject({ removed: z.int() }),
  }),
} as const;
