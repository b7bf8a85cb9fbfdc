import { mcpOperations, type SessionTools, toolOperations } from "@reins/api";
import { listPins, resetPins, type ToolView } from "@reins/host";
import type { z } from "zod";
import type { CurrentConnections } from "../connections/connections.ts";
import { HttpProblem } from "../problems.ts";
import type { Routes } from "../routes/router.ts";

const { listSessionTools } = toolOperations;
const NOT_NATIVE = "only the tools of the native agent are known here; other agents list their own";
const NOT_RUNNING = "its agent does not run; the next prompt starts it";
/** How long MCP servers, the host or an embedding may take. */
const TIMEOUT_MS = 60_000;

/** The tools of sessions, read-only. */
export function toolRoutes(current: CurrentConnections): Routes {
  return {
    name: "tools",
    mount(router) {
      router.handle(listSessionTools, async ({ params: { id }, query, principal, harness }) => {
        const { hosting } = await current.open(harness);
        const record = await hosting.hub.find(principal, id);
        if (!record) throw new HttpProblem("not_found", `there is no session ${id}`);
        const { agent } = hosting.hub.live(record.id) ?? {};
        if (!agent) return nothing(NOT_RUNNING);
        const signal = AbortSignal.timeout(TIMEOUT_MS);
        const view = await agent.tools?.(record.agent_session_id, signal);
        return view ? shownTools(view, query, signal) : nothing(NOT_NATIVE);
      });
    },
  };
}

function nothing(diagnostic: string): SessionTools {
  return { tools: [], total: 0, counts: { loaded: 0, promoted: 0, deferred: 0 }, diagnostic };
}

async function shownTools(
  { tools, search }: ToolView,
  { query, strategy, limit }: z.output<typeof listSessionTools.query>,
  signal: AbortSignal,
): Promise<SessionTools> {
  const count = (state: string) => tools.filter((tool) => tool.state === state).length;
  const all = {
    total: tools.length,
    counts: { loaded: count("loaded"), promoted: count("promoted"), deferred: count("deferred") },
  };
  if (query === undefined) return { tools: tools.slice(0, limit).map((tool) => ({ ...tool })), ...all };
  const known = new Map(tools.map((tool) => [tool.name, tool]));
  const { hits, diagnostic, strategy: used } = await search(query, strategy, signal);
  const found = hits.flatMap(({ name, score, why }) => {
    const tool = known.get(name);
    return tool ? [{ ...tool, score, why }] : [];
  });
  return {
    tools: found.slice(0, limit),
    ...all,
    strategy: used,
    ...(diagnostic !== undefined && { diagnostic }),
  };
}

const PAGE = 100;

/** The pinned tools of MCP servers. */
export const pinRoutes: Routes = {
  name: "mcp-pins",
  mount(router) {
    router.handle(mcpOperations.listToolPins, async ({ principal, harness, query }) => {
      const { limit = PAGE, after, ...range } = query;
      const pins = await listPins(harness, principal, { ...range, after, limit });
      const last = pins.length === limit ? pins.at(-1) : undefined;
      return {
        pins: pins.map(({ server, origin, tool, hash, verdict, at }) => ({
          ...{ server, origin, tool, hash, pinned_at: at },
          ...(verdict !== "" && { verdict }),
        })),
        ...(last && { next: `${last.server}/${last.tool}` }),
      };
    });
    router.handle(mcpOperations.resetToolPins, async ({ principal, harness, query }) => ({
      removed: await resetPins(harness, principal, query),
    }));
  },
};
