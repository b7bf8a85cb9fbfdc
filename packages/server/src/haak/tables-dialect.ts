import { haakOperations } from "@reins/api";
import type { HaakViews, SessionRecord } from "@reins/host";
import type { Harness, Principal } from "@reins/supervisor";
import type { Dialect } from "../dialect/dialect.ts";
import { Refusal } from "../problems/refusal.ts";

const LIMIT = 100;
const views = new WeakMap<Harness, HaakViews>();

/** HAAK's four tables, as views of what is kept. */
export const haakTablesDialect: Dialect = {
  name: "haak tables",
  mount(place) {
    place.governed(haakOperations.listHaakSessions, async ({ harness, principal, query }) => {
      const { limit = LIMIT, ...range } = query;
      return { sessions: await (await viewsOf(harness)).sessions(principal, { ...range, limit }) };
    });
    place.governed(haakOperations.getHaakSession, async ({ harness, principal, params }) => {
      const { found, of } = await find(harness, principal, params.session);
      return of.row(found);
    });
    place.governed(haakOperations.listHaakTurns, async ({ harness, principal, params, query }) => {
      const { found, of } = await find(harness, principal, params.session);
      return { turns: await of.turns(found, { limit: LIMIT, ...given(query) }) };
    });
    place.governed(haakOperations.listHaakHistory, async ({ harness, principal, params, query }) => {
      const { found, of } = await find(harness, principal, params.session);
      return { history: await of.history(found, { limit: LIMIT, ...given(query) }) };
    });
    place.governed(haakOperations.listHaakLedger, async ({ harness, principal, params, query }) => {
      const { found, of } = await find(harness, principal, params.session);
      const placed = await of.ledger(found, { limit: LIMIT, ...given(query) });
      return { ledger: placed.map(({ seq, entry }) => ({ seq, ...entry })) };
    });
  },
};

async function viewsOf(harness: Harness): Promise<HaakViews> {
  const { HaakViews: Made } = await import("@reins/host");
  const known = views.get(harness) ?? new Made(harness);
  views.set(harness, known);
  return known;
}

async function find(
  harness: Harness,
  principal: Principal,
  session: string,
): Promise<{ readonly found: SessionRecord; readonly of: HaakViews }> {
  const of = await viewsOf(harness);
  const found = await of.find(principal, session);
  if (found) return { found, of };
  throw new Refusal("not_found", `there is no session ${session}`);
}

function given(range: { after?: number | undefined; limit?: number | undefined }) {
  const { after, limit } = range;
  return { after, ...(limit !== undefined && { limit }) };
}
