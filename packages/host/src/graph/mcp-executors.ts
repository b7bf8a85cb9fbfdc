import { isDeepStrictEqual } from "node:util";
import { membersOf } from "@reins/acp";
import { McpServers, type Tool } from "@reins/agent";
import { misfit } from "@reins/graph";
import { errorMessage } from "@reins/kit";
import { isHttpServer, type McpGate, type McpGateway, readServer } from "@reins/mcp";
import { requestFor } from "../control/control-point.ts";
import { enforce, isForeseen } from "../control/enforce.ts";
import { perform } from "../control/outcome.ts";
import { LENT_SERVER, mcpToolName } from "../governor/mcp-cards.ts";
import { startArguments } from "../governor/mcp-servers.ts";
import { reachesAll } from "../governor/session-folders.ts";
import type { ToolPins } from "../mcp/tool-pins.ts";
import { openServers } from "../sessions/sessions.ts";
import type { RunExecutor } from "./executor.ts";
import type { RunPlace } from "./run-place.ts";
import type { SharedToolContext } from "./tool-executors.ts";

export interface McpExecutorsOptions {
  readonly place: RunPlace;
  readonly context: SharedToolContext;
  readonly gateway: Pick<McpGateway, "wrap">;
  readonly pins: ToolPins;
  /** MCP servers that the operator gives each session of the agent. */
  readonly configured: readonly unknown[];
  /** Whether the agent of the session is confined: then no program is started outside for a user who is kept in. */
  readonly isConfined: boolean;
  /** Whether no person is asked about starting a server; one that would need it is left out. */
  readonly isUnattended: boolean;
  readonly signal: AbortSignal;
}

/** The tools of a session's MCP servers, and what ends the servers. */
export interface McpExecutors {
  readonly executors: readonly RunExecutor[];
  readonly close: () => Promise<void>;
}

const NONE: McpExecutors = { executors: [], close: async () => undefined };

/** A call that an action is about to make, after its verdict. */
interface Permit {
  readonly server: string;
  readonly tool: string;
  readonly arguments: unknown;
}

/**
 * Starts the MCP servers of a session for graphs, each after a verdict, and returns their tools as executors. A call is
 * decided as an action, under the name that rules have for it; the servers get no other.
 */
export async function mcpExecutors(options: McpExecutorsOptions): Promise<McpExecutors> {
  const { place, gateway, pins, isUnattended } = options;
  const { record } = place.session;
  const { harness } = place.context;
  const all = [...options.configured, ...openServers(harness.vault, record)];
  if (all.length === 0) return NONE;
  const permits = new Set<Permit>();
  const gate = gateFor(permits);
  const closing: (() => Promise<void>)[] = [];
  const given: unknown[] = [];
  const names = new Set<string>();
  for (const declared of all) {
    const server = readServer(declared);
    if (names.has(server.name)) continue;
    names.add(server.name);
    const isKeptOut = !isHttpServer(server) && options.isConfined && !reachesAll(place.principal);
    if (server.name === LENT_SERVER || isKeptOut || given.length >= MOST_SERVERS) continue;
    const point = { kind: "mcp_start", tool: "mcp/start", arguments: startArguments(server) } as const;
    if (isUnattended && !(await isForeseen(harness, requestFor(place, point)))) continue;
    const enforced = await enforce(place, point, { signal: options.signal });
    if (enforced.kind !== "allowed") continue;
    const started = { tool: point.tool, entry: enforced.verdict.entry };
    const ending = new AbortController();
    const pinned = pins.gateFor(place, server, {
      ...{ isUnattended, signal: AbortSignal.any([options.signal, ending.signal]) },
      nameOf: (tool) => mcpToolName(server.name, tool),
      // The tools of a run are listed once.
      onAccepted: () => undefined,
    });
    const wrapped = await perform(place, started, () =>
      gateway.wrap(server, { ...gate, ...pinned }, "http", record),
    );
    closing.push(() => {
      ending.abort(new Error("the run is over"));
      return wrapped.close();
    });
    given.push(wrapped.server);
  }
  const servers = new McpServers(given);
  const { tools } = await servers.offered();
  return {
    executors: tools.map((tool) => executorOf(tool, permits, options.context)),
    close: async () => {
      await servers.close();
      await Promise.allSettled(closing.map((close) => close()));
    },
  };
}

const MOST_SERVERS = 50;

/** Allows what an action was allowed, once, and nothing else: servers ask agents nothing here. */
function gateFor(permits: Set<Permit>): McpGate {
  return {
    mayUse: () => true,
    async decide({ from, method, server, tool, arguments: asked }) {
      const permit = [...permits].find(
        (one) => one.server === server && one.tool === tool && isDeepStrictEqual(one.arguments, asked ?? {}),
      );
      if (from !== "agent" || method !== "tools/call" || !permit)
        return { allowed: false, reason: "an action of a graph calls a tool, and does nothing else" };
      permits.delete(permit);
      return { allowed: true, arguments: asked };
    },
    // The outcome is recorded with the result of the action.
    report: async () => undefined,
  };
}

function executorOf(tool: Tool, permits: Set<Permit>, context: SharedToolContext): RunExecutor {
  const { name, description, source: server = "", label = name } = tool;
  const ruleName = mcpToolName(server, label);
  return {
    ...{ name, type: "tool", description, ruleName, input: tool.parameters },
    // What a server says of its tools makes none of them read-only.
    capabilities: ["mcp", server, label],
    check: (input) => void tool.call(input),
    async plan({ input = {} }) {
      const call = tool.call(input);
      // What it refers to may be of another form than was to be expected.
      const fault = misfit(tool.parameters, input);
      if (fault !== undefined) throw new Error(`${name}: ${fault}`);
      return {
        ...{ tool: ruleName, arguments: input, tools: "acp", kind: "other", title: call.title },
        async perform(allowed, signal) {
          const members = membersOf(allowed);
          const permit = { server, tool: label, arguments: members };
          permits.add(permit);
          try {
            const { text, isError = false } = await tool.call(members).perform({ ...context, signal });
            return { output: text, isError };
          } catch (error) {
            if (signal.aborted || isRefusal(error)) throw error;
            const output = `${errorMessage(error)}; it is not known whether ${label} was done`;
            return { output, isError: true, isUnknown: true };
          } finally {
            permits.delete(permit);
          }
        },
      };
    },
  };
}

/** Whether a server says that it did not do what it was asked. Where it says nothing it may have. */
function isRefusal(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "number" && INVALID_REQUESTS.has(code);
}

/** Of JSON-RPC: an invalid request, an unknown method, invalid parameters. */
const INVALID_REQUESTS: ReadonlySet<number> = new Set([-32600, -32601, -32602]);
