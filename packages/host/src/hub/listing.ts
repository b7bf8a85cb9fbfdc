import type { JsonObject } from "@reins/acp";
import type { Principal } from "@reins/supervisor";
import type { ExtensionHub } from "./extensions.ts";
import { listedSession } from "./session-info.ts";

const PAGE = 200;

/** A page of the sessions that a principal may see and that are open, as `session/list` tells them. */
export async function listingOf(
  hub: Pick<ExtensionHub, "list" | "countsOf">,
  principal: Principal,
  { cwd, cursor }: JsonObject,
): Promise<JsonObject> {
  const range = {
    open: true,
    limit: PAGE + 1,
    ...(typeof cwd === "string" && { cwd }),
    ...(typeof cursor === "string" && { after: cursor }),
  };
  const records = await hub.list(principal, range);
  const page = records.slice(0, PAGE);
  const nextCursor = records.length > PAGE ? page.at(-1)?.id : undefined;
  const ids = page.map(({ id }) => id);
  const counts = await hub.countsOf(principal.tenant, ids);
  const sessions = page.map((record) => listedSession(record, counts.get(record.id) ?? 0));
  return { sessions, nextCursor: nextCursor ?? null };
}
