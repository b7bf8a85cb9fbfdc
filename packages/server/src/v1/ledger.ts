import { join } from "node:path";
import { auditOperations, ledgerOperations } from "@reins/api";
import {
  ArtifactStore,
  announcedKeys,
  type EntryRange,
  exportLines,
  type PlacedEntry,
  proveEntry,
  readCheckpoint,
} from "@reins/ledger";
import { isOperator } from "@reins/supervisor";
import type { z } from "zod";
import { HttpProblem } from "../problems.ts";
import { follow, type Growing } from "../routes/follow.ts";
import { type AuthorizedCall, eventText, type Routes } from "../routes/router.ts";

const { streamEntries, exportLedger } = ledgerOperations;
const { pullAudit } = auditOperations;

/** The ledger and its proofs, and its entries as audit records, which name the version of Reins. */
export const ledgerRoutes = (version: string): Routes => ({
  name: "ledger",
  mount(router) {
    router.handle(ledgerOperations.listEntries, async (call) => {
      const { query } = call;
      const view = await LedgerView.of(call);
      const { entries, seen, more } = await view.read({ ...query, order: query.order ?? "newest" });
      return { entries, ...(more && { next: seen }) };
    });
    router.stream(streamEntries, (call, open) => follow(call, open, visibleEntries(call)));
    router.handle(ledgerOperations.getEntry, (call) => entryOf(call, call.params.cid));
    router.handle(ledgerOperations.proveEntry, async (call) => {
      const { cid } = call.params;
      await entryOf(call, cid);
      return proveEntry(call.harness.ledger, cid);
    });
    router.handle(ledgerOperations.getCheckpoint, async ({ harness: { ledger } }) => {
      const { size, note } = await ledger.checkpoint();
      const root = Buffer.from(readCheckpoint(note).root).toString("base64");
      return { origin: ledger.origin, log_key: ledger.logKey, size, root, note };
    });
    router.handle(ledgerOperations.proveConsistency, async ({ query: { from }, harness: { ledger } }) => {
      const { size: to, note: later } = await ledger.checkpoint();
      if (from > to)
        throw new HttpProblem(
          "conflict",
          `this ledger has ${to} entries: it was cut off, or it is another one`,
        );
      const hashes = from === 0 || from === to ? [] : await ledger.consistency(from, to);
      const proof = hashes.map((hash) => Buffer.from(hash).toString("base64"));
      return { log_key: ledger.logKey, from, to, later, hashes: proof };
    });
    router.handle(ledgerOperations.listLedgerKeys, async ({ harness: { ledger } }) => {
      const keys = (await announcedKeys(ledger)).map(
        ({ added, added_at, retired, retired_at: _, ...key }) => ({
          ...key,
          ...{ announced: added, announced_at: added_at, retired },
        }),
      );
      return { origin: ledger.origin, log_key: ledger.logKey, keys };
    });
    router.text(exportLedger, exported);
    router.text(pullAudit, (call) => audited(call, version));
  },
});

async function entryOf(call: AuthorizedCall, cid: string): Promise<PlacedEntry> {
  const found = await (await LedgerView.of(call)).get(cid);
  if (!found) throw new HttpProblem("not_found", `there is no entry ${cid}`);
  return found;
}

/** Exports the ledger; private content only on request. */
async function* exported(call: AuthorizedCall<typeof exportLedger>): AsyncGenerator<string> {
  const { harness, query } = call;
  const artifacts = new ArtifactStore(join(harness.home, "artifacts"));
  yield* exportLines(harness.ledger, query.private === "true" ? { artifacts } : {});
}

const AUDIT_LIMIT = 1_000;

/** The entries after a cursor that the caller may see, as audit records. */
async function* audited(call: AuthorizedCall<typeof pullAudit>, version: string): AsyncGenerator<string> {
  const { AuditRecords, isCursorOf, readCursor } = await import("@reins/telemetry/audit");
  const { ledger } = call.harness;
  const { cursor: text, format = "jsonl", limit = AUDIT_LIMIT } = call.query;
  const cursor = text === undefined ? undefined : readCursor(text);
  if (text !== undefined && !cursor)
    throw new HttpProblem("invalid", "a cursor is <seq>.<cid>, as the last record has it");
  if (cursor && !(await isCursorOf(ledger, cursor)))
    throw new HttpProblem("conflict", "the ledger has no such entry: it is another one, or was cut off");
  const records = new AuditRecords(ledger, format, version);
  const view = await LedgerView.of(call);
  let after = cursor?.seq;
  for (let left = limit; left > 0; ) {
    const page = { order: "oldest", after, limit: Math.min(left, STREAM_PAGE) } as const;
    const { entries, seen, more } = await view.read(page);
    for (const placed of entries) yield await records.line(placed);
    if (!more) return;
    left -= entries.length;
    after = seen;
  }
}

const STREAM_PAGE = 200;

/** The entries that the caller may see. */
function visibleEntries(call: AuthorizedCall<typeof streamEntries>): Growing {
  const { ledger } = call.harness;
  return {
    newest: async () => (await ledger.size()) - 1,
    subscribe: (wake) => ledger.subscribe(wake),
    after: async (position) => {
      // Tenants may have been added.
      const view = await LedgerView.of(call);
      const range = { ...call.query, order: "oldest", after: position, limit: STREAM_PAGE } as const;
      const { entries, seen = position, more } = await view.read(range);
      const texts = entries.map((placed) => eventText(streamEntries, placed.seq, placed));
      return { texts, position: seen, more };
    },
  };
}

type Filter = Partial<z.output<(typeof ledgerOperations)["listEntries"]["query"]>>;

/** A page of entries. */
interface Viewed {
  readonly entries: readonly PlacedEntry[];
  /** The position up to which entries were read. */
  readonly seen: number | undefined;
  readonly more: boolean;
}

const DEFAULT_TENANT = "default";
const PAGE = 500;
/** The most invisible entries skipped for one page. */
const MOST_PASSED = 20_000;

/**
 * The ledger as a principal may see it. The operator sees everything, others their tenant's sessions; the default
 * tenant also entries without a session, because it administers the server.
 */
class LedgerView {
  readonly #ledger: AuthorizedCall["harness"]["ledger"];
  readonly #tenant: string;
  readonly #seesAll: boolean;
  /** Other tenants, removed ones too; the names of their chains begin with them. */
  readonly #foreign: ReadonlySet<string>;

  private constructor({ harness, principal }: AuthorizedCall, tenants: readonly string[]) {
    this.#ledger = harness.ledger;
    this.#tenant = principal.tenant;
    this.#seesAll = isOperator(principal);
    this.#foreign = new Set(tenants.filter((tenant) => tenant !== principal.tenant));
  }

  /** The view of a caller. */
  static async of(call: AuthorizedCall): Promise<LedgerView> {
    return new LedgerView(call, await call.harness.identity.everyTenant());
  }

  /** A visible entry. */
  async get(cid: string): Promise<PlacedEntry | undefined> {
    const found = await this.#ledger.get(cid);
    return found && this.#shows(found) ? found : undefined;
  }

  /** Reads matching entries up to the limit, or as many as a bounded scan finds. */
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
    // Times are stored in one sortable form.
    const [from, to] = [since, until].map((moment) => moment && new Date(moment).toISOString());
    return { entity_id, entity_prefix: own, quality, actor, tag, since: from, until: to, order };
  }

  /** The chain's name has the tenant; if an agent's name looks like a tenant's, the subject decides. */
  #shows({ entry: { entity_id, payload } }: PlacedEntry): boolean {
    if (this.#seesAll) return true;
    const subject = tenantIn(payload);
    if (subject !== undefined) return subject === this.#tenant;
    if (this.#tenant !== DEFAULT_TENANT) return entity_id.startsWith(`${this.#tenant}/`);
    return !this.#foreign.has(entity_id.slice(0, Math.max(0, entity_id.indexOf("/"))));
  }
}

/** The tenant of an entry's subject. */
function tenantIn(payload: unknown): string | undefined {
  const subject = memberOf(payload, "subject");
  const tenant = memberOf(subject, "tenant");
  return typeof tenant === "string" ? tenant : undefined;
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
