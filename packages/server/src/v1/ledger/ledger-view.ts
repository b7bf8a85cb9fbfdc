import type { ledgerOperations } from "@reins/api";
import type { EntryRange, PlacedEntry } from "@reins/ledger";
import type { z } from "zod";
import type { GovernedCall } from "../../dialect/call.ts";

type Filter = Partial<z.output<(typeof ledgerOperations)["listEntries"]["query"]>>;

/** Some entries, and after which the next ones come, if there may be any. */
export interface Viewed {
  readonly entries: readonly PlacedEntry[];
  /** Up to here everything was looked at. */
  readonly seen: number | undefined;
  readonly more: boolean;
}

const DEFAULT_TENANT = "default";
const PAGE = 500;
/** How many entries that somebody may not see are passed over for one page. */
const MOST_PASSED = 20_000;

/**
 * The ledger as somebody may see it. The operator sees all; others the entries of their tenant's sessions, and those of
 * the default tenant also what belongs to no session, because they look after the harness itself.
 */
export class LedgerView {
  readonly #ledger: GovernedCall["harness"]["ledger"];
  readonly #tenant: string;
  readonly #seesAll: boolean;
  /** How the chains of other tenants begin. */
  readonly #foreign: readonly string[];

  private constructor({ harness, principal, supervisor }: GovernedCall, tenants: readonly string[]) {
    this.#ledger = harness.ledger;
    this.#tenant = principal.tenant;
    this.#seesAll = principal.id === supervisor.LOCAL;
    this.#foreign = tenants.filter((tenant) => tenant !== principal.tenant).map((tenant) => `${tenant}/`);
  }

  /** What whoever asks may see. */
  static async of(call: GovernedCall): Promise<LedgerView> {
    const tenants = await call.harness.identity.listTenants();
    return new LedgerView(
      call,
      tenants.map(({ id }) => id),
    );
  }

  /** One entry, if it is there to be seen. */
  async get(cid: string): Promise<PlacedEntry | undefined> {
    const found = await this.#ledger.get(cid);
    return found && this.#shows(found) ? found : undefined;
  }

  /** Entries that fit, as many as asked for or as can be found in reasonable time. */
  async read(filter: Filter): Promise<Viewed> {
    const { limit = 100, after, ...rest } = filter;
    const entries: PlacedEntry[] = [];
    let seen = after;
    for (let passed = 0; passed < MOST_PASSED; ) {
      // One more, to know whether there are more.
      const size = this.#seesAll ? Math.min(PAGE, limit + 1 - entries.length) : PAGE;
      const page = await this.#ledger.read({ ...this.#range(rest), after: seen, limit: size });
      for (const placed of page) {
        const isShown = this.#shows(placed);
        if (isShown && entries.length === limit) return { entries, seen, more: true };
        seen = placed.seq;
        if (isShown) entries.push(placed);
        else passed += 1;
      }
      if (page.length < size) return { entries, seen, more: false };
    }
    return { entries, seen, more: true };
  }

  #range({ session, quality, agent: actor, tag, since, until, order }: Filter): EntryRange {
    const own = this.#seesAll || this.#tenant === DEFAULT_TENANT ? undefined : `${this.#tenant}/`;
    const entity_id = session === undefined ? undefined : `${own ?? ""}${session}`;
    // Times are kept in one form, by which they also sort.
    const [from, to] = [since, until].map((moment) => moment && new Date(moment).toISOString());
    return { entity_id, entity_prefix: own, quality, actor, tag, since: from, until: to, order };
  }

  /** A chain's name says whose it is; where an agent chose its own name to look like a tenant's, its subject decides. */
  #shows({ entry: { entity_id, payload } }: PlacedEntry): boolean {
    if (this.#seesAll) return true;
    const subject = tenantIn(payload);
    if (subject !== undefined) return subject === this.#tenant;
    if (this.#tenant !== DEFAULT_TENANT) return entity_id.startsWith(`${this.#tenant}/`);
    return !this.#foreign.some((prefix) => entity_id.startsWith(prefix));
  }
}

/** The tenant of whoever an entry is about, where it says so. */
function tenantIn(payload: unknown): string | undefined {
  const subject = memberOf(payload, "subject");
  const tenant = memberOf(subject, "tenant");
  return typeof tenant === "string" ? tenant : undefined;
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
