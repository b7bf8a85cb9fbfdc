import { z } from "zod";
import { operation } from "./operation.ts";
import { Hash, LongLimit, Moment, Name, named } from "./schema.ts";

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
