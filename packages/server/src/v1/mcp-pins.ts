import { mcpOperations } from "@reins/api";
import { listPins, resetPins } from "@reins/host";
import type { Routes } from "../routes/router.ts";

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
