import { join } from "node:path";
import { ledgerOperations } from "@reins/api";
import type { GovernedCall } from "../../dialect/call.ts";
import type { Dialect } from "../../dialect/dialect.ts";
import { Refusal } from "../../problems/refusal.ts";
import { expectOperatorsTenant } from "../operators-tenant.ts";
import { tellEntries } from "./entry-stream.ts";
import { LedgerView } from "./ledger-view.ts";

const {
  listEntries,
  streamEntries,
  getEntry,
  proveEntry,
  getCheckpoint,
  proveConsistency,
  listLedgerKeys,
  exportLedger,
} = ledgerOperations;

/** The record, and what proves it to those who trust nobody. */
export const ledgerDialect: Dialect = {
  name: "ledger",
  mount(place) {
    place.governed(listEntries, async (call) => {
      const { query } = call;
      const view = await LedgerView.of(call);
      const { entries, seen, more } = await view.read({ ...query, order: query.order ?? "newest" });
      return { entries, ...(more && { next: seen }) };
    });
    place.stream(streamEntries, tellEntries);
    place.governed(getEntry, (call) => entryOf(call, call.params.cid));
    place.governed(proveEntry, async (call) => {
      const { cid } = call.params;
      await entryOf(call, cid);
      const { proveEntry: prove } = await import("@reins/ledger");
      return prove(call.harness.ledger, cid);
    });
    place.governed(getCheckpoint, async ({ harness: { ledger } }) => {
      const { readCheckpoint } = await import("@reins/ledger");
      const { size, note } = await ledger.checkpoint();
      const root = Buffer.from(readCheckpoint(note).root).toString("base64");
      return { origin: ledger.origin, log_key: ledger.logKey, size, root, note };
    });
    place.governed(proveConsistency, async ({ query: { from }, harness: { ledger } }) => {
      const { size: to, note: later } = await ledger.checkpoint();
      if (from > to)
        throw new Refusal("conflict", `this ledger has ${to} entries: it was cut off, or it is another one`);
      const hashes = from === 0 || from === to ? [] : await ledger.consistency(from, to);
      const proof = hashes.map((hash) => Buffer.from(hash).toString("base64"));
      return { log_key: ledger.logKey, from, to, later, hashes: proof };
    });
    place.governed(listLedgerKeys, async ({ harness: { ledger } }) => {
      const { announcedKeys } = await import("@reins/ledger");
      const keys = (await announcedKeys(ledger)).map(
        ({ added, added_at, retired, retired_at: _, ...key }) => ({
          ...key,
          ...{ announced: added, announced_at: added_at, retired },
        }),
      );
      return { origin: ledger.origin, log_key: ledger.logKey, keys };
    });
    place.text(exportLedger, exported);
  },
};

async function entryOf(call: GovernedCall, cid: string): Promise<object> {
  const found = await (await LedgerView.of(call)).get(cid);
  if (!found) throw new Refusal("not_found", `there is no entry ${cid}`);
  return found;
}

/** The whole ledger; with its private content only where that is asked for. */
async function* exported(call: GovernedCall<typeof exportLedger>): AsyncGenerator<string> {
  expectOperatorsTenant(call.principal, "the ledger holds what all tenants did");
  const { harness, query } = call;
  const { ArtifactStore, exportLines } = await import("@reins/ledger");
  const artifacts = new ArtifactStore(join(harness.home, "artifacts"));
  yield* exportLines(harness.ledger, query.private === "true" ? { artifacts } : {});
}
