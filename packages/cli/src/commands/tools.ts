import { type SessionTools, sessionOperations, toolOperations } from "@reins/api";
import type { ApiClient } from "../client/api-client.ts";
import { operationCommand } from "../client/operation-command.ts";
import { group } from "../command.ts";
import { CliError } from "../errors.ts";
import { printableLine, screenWidth, table } from "../output.ts";

const LATEST = "latest";
const SESSION = [
  "--session <id>",
  "the session",
  { default: [LATEST, "the most recently used one of the native agent that runs"], find: findSession },
] as const;

/** The session with an id, or the one that was used last. */
async function findSession(given: string, client: ApiClient): Promise<string> {
  if (given !== LATEST) return given;
  const { sessions } = await client.call(sessionOperations.listSessions, { query: { agent: "native" } });
  const latest = sessions.find(({ agent_runs }) => agent_runs);
  if (latest) return latest.id;
  throw new CliError("No session of the native agent is open.", {
    next: "Start one on the page or with reins run, or name one with --session.",
  });
}

export const toolsCommand = group(
  "The tools that sessions of the native agent may use. When there are many, most are deferred: they stay out of the prompt until the model searches for them.",
  {
    search: operationCommand({
      operation: toolOperations.listSessionTools,
      summary: "find tools as the model would",
      description:
        "Finds the tools of a session that match a query, best first, and says why. It promotes none: only the model's own search does.",
      inputs: {
        query: ["<words...>", "what the tool should do", { words: (words) => words.join(" ") }],
        strategy: ["--strategy <strategy>", "how to search (default: as configured)"],
        id: SESSION,
      },
      output: (found) => ({ text: () => toolTable(found, ["score", "why"]) }),
      jsonHelp: "print the tools as JSON",
      examples: [
        'reins tools search "merge a pull request"',
        'reins tools search --strategy regex "^git_"',
        'reins tools search "refund a payment" --json',
      ],
    }),
    list: operationCommand({
      operation: toolOperations.listSessionTools,
      summary: "list the tools of a session",
      description:
        "Lists the tools that a session may use, where they come from and whether they are deferred.",
      inputs: { id: SESSION, limit: ["--limit <count>", "how many (default: 1000)"] },
      output: (found) => ({ text: () => toolTable(found, ["tokens", "description"]) }),
      examples: ["reins tools list", "reins tools list --limit 20 --json"],
    }),
  },
);

function toolTable(
  { tools, total, counts, diagnostic }: SessionTools,
  more: readonly ("score" | "why" | "tokens" | "description")[],
): string {
  const { loaded, promoted, deferred } = counts;
  const shown = tools.map((tool) => [
    ...[tool.name, tool.source ?? "-", tool.state].map(printableLine),
    ...more.map((column) => {
      const value = tool[column] ?? "";
      return typeof value === "number" ? String(Math.round(value * 100) / 100) : printableLine(value);
    }),
  ]);
  const rows = shown.length > 0 ? table([["tool", "source", "state", ...more], ...shown], screenWidth()) : "";
  const note = diagnostic === undefined ? "" : `${printableLine(diagnostic)}\n`;
  return `${rows}${note}${total} tools: ${loaded} loaded, ${promoted} promoted, ${deferred} deferred\n`;
}
