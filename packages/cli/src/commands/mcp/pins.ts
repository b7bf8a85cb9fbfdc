import { mcpOperations, type ToolPin } from "@reins/api";
import { idByPrefix } from "../../client/id-prefix.ts";
import { operationCommand } from "../../client/operation-command.ts";
import { group } from "../../command.ts";
import { printableLine, screenWidth, table } from "../../printable.ts";

const ID_FORMAT = { what: "server", mark: "", length: 64, list: "reins mcp pins list" } as const;
const SHOWN = 12;
const MAX_SEARCHED = 1_000;

/** The tools of MCP servers as they were pinned. */
export const pinsCommand = group(
  "The tools of MCP servers, each pinned by a hash of its definition when it is first listed. One that changes is neither offered nor called until a person accepts it.",
  {
    list: operationCommand({
      operation: mcpOperations.listToolPins,
      summary: "list pinned tools",
      description: "Lists the pinned tools, by server and name.",
      inputs: {
        after: ["--after <place>", "the place where the page before ended"],
        limit: ["--limit <count>", "how many (default: 100)"],
      },
      output: ({ pins, next }) => ({
        text: () => (pins.length === 0 ? "No tools are pinned.\n" : pinTable(pins)),
        ...(next !== undefined && { notices: [`There are more: --after ${printableLine(next)}`] }),
      }),
      examples: ["reins mcp pins list", 'reins mcp pins list --json | jq -r ".pins[].tool"'],
    }),
    reset: operationCommand({
      operation: mcpOperations.resetToolPins,
      summary: "forget the pins of a server",
      description:
        "Removes the pins of a server, or of one of its tools. They are pinned anew when they are next listed, as they are then.",
      inputs: {
        server: [
          "<server>",
          "the server's id, or the beginning of it",
          {
            find: (given, client) =>
              idByPrefix(given, ID_FORMAT, [
                async () => {
                  const query = { limit: MAX_SEARCHED };
                  const { pins } = await client.call(mcpOperations.listToolPins, { query });
                  return pins.map(({ server }) => ({ id: server }));
                },
              ]),
          },
        ],
        tool: ["[tool]", "only this tool of it"],
      },
      output: ({ removed }) => ({ text: () => `removed ${removed} ${removed === 1 ? "pin" : "pins"}\n` }),
      examples: ["reins mcp pins reset 3f9a21c07b1e", "reins mcp pins reset 3f9a21c07b1e read_file"],
    }),
  },
);

function pinTable(pins: readonly ToolPin[]): string {
  const rows = pins.map(({ server, tool, hash, pinned_at, verdict, origin }) =>
    [
      server.slice(0, SHOWN),
      tool,
      hash.slice(0, SHOWN),
      pinned_at,
      verdict === undefined ? "first sight" : "accepted",
      origin,
    ].map(printableLine),
  );
  return table(
    [["server", "tool", "definition", "pinned", "by", "started or reached as"], ...rows],
    screenWidth(),
  );
}
