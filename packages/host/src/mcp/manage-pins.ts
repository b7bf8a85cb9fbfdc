import { change } from "@reins/store";
import { actorOf, type Harness, type Principal } from "@reins/supervisor";
import { type PinRange, type PinRow, pinTables } from "./tables.ts";

/** The pins of a principal's tenant; `after` is the last of the page before, as server and tool with a slash between. */
export function listPins(
  { store }: Pick<Harness, "store">,
  { tenant }: Pick<Principal, "tenant">,
  {
    after,
    ...range
  }: Omit<PinRange, "tenant"> & { readonly after?: string | undefined; readonly limit: number },
): Promise<PinRow[]> {
  const slash = after?.indexOf("/") ?? -1;
  const last = after !== undefined && slash >= 0;
  const from = last ? { server: after.slice(0, slash), tool: after.slice(slash + 1) } : undefined;
  return store.query(pinTables, "list", { ...range, tenant, after: from });
}

/** Removes pins of a principal's tenant, on the record; gives how many there were. */
export async function resetPins(
  harness: Pick<Harness, "record">,
  principal: Principal,
  range: { readonly server: string; readonly tool?: string | undefined },
): Promise<number> {
  const { tenant, id, kind } = principal;
  const entry = {
    quality: "policy_change",
    actor: actorOf(principal),
    target: range.server,
    tags: ["mcp_pins", `tenant:${tenant}`],
    payload: { change: "tool_pins_reset", ...range, tenant, by: { principal: id, kind } },
  } as const;
  const { results } = await harness.record([entry], {
    with: [change(pinTables, "remove", { ...range, tenant })],
  });
  return Number(results[0]);
}
