import { type LedgerCheckpoint, ledgerOperations } from "@reins/api";
import { ApiError } from "@reins/sdk";
import { useQuery } from "@tanstack/react-query";
import { z } from "zod";
import { call } from "../api/queries.ts";
import { sizeOf } from "./prove-entry.ts";
import { verify } from "./verify.ts";

/** How the current ledger relates to the checkpoint that this browser keeps. */
export type Comparison =
  | { readonly kind: "first"; readonly now: KeptCheckpoint }
  | { readonly kind: "extends"; readonly before: KeptCheckpoint; readonly now: KeptCheckpoint }
  | {
      readonly kind: "broken";
      readonly before: KeptCheckpoint | undefined;
      readonly now: KeptCheckpoint;
      readonly why: string;
    };

/** Compares the ledger with the kept checkpoint, and keeps the newer one if it is consistent. */
export async function compareWithKept(signal?: AbortSignal): Promise<Comparison> {
  const before = keptCheckpoint();
  const now = keptOf(await call(ledgerOperations.getCheckpoint, { signal }));
  if (!before) return firstLook(now);
  if (before.logKey !== now.logKey) {
    const why = `It is signed with another key: ${now.logKey} in place of ${before.logKey}.`;
    return { kind: "broken", before, now, why };
  }
  if (now.size < before.size) {
    const why = `It had ${before.size} entries and now shows ${now.size}: entries were removed.`;
    return { kind: "broken", before, now, why };
  }
  return follow(before, now, signal);
}

/** Accepts the server's current checkpoint in place of the kept one. */
export function trustFromNow(now: KeptCheckpoint): void {
  keepCheckpoint(now);
}

async function firstLook(now: KeptCheckpoint): Promise<Comparison> {
  const claim = { logKey: now.logKey, earlier: now.note, later: now.note, hashes: [] };
  const { ok, faults } = await verify({ kind: "consistency", claim });
  if (!ok) return { kind: "broken", before: undefined, now, why: reasonOf(faults) };
  keepCheckpoint(now);
  return { kind: "first", now };
}

async function follow(
  before: KeptCheckpoint,
  now: KeptCheckpoint,
  signal: AbortSignal | undefined,
): Promise<Comparison> {
  const joined = await join(before, signal);
  if (typeof joined === "string") return { kind: "broken", before, now, why: joined };
  const { later, hashes } = joined;
  const claim = { logKey: before.logKey, earlier: before.note, later, hashes };
  const { ok, faults } = await verify({ kind: "consistency", claim });
  if (!ok) return { kind: "broken", before, now, why: reasonOf(faults) };
  const newest = { ...now, size: sizeOf(later), note: later };
  keepCheckpoint(newerOf(keptCheckpoint(), newest));
  return { kind: "extends", before, now: newest };
}

/** Fetches the consistency proof, or the server's reason why there is none. */
async function join(before: KeptCheckpoint, signal: AbortSignal | undefined) {
  try {
    return await call(ledgerOperations.proveConsistency, { query: { from: before.size }, signal });
  } catch (error) {
    if (error instanceof ApiError && error.status === 409) return error.message;
    throw error;
  }
}

function reasonOf(faults: readonly { readonly message: string }[]): string {
  return faults.map(({ message }) => `${message[0]?.toUpperCase()}${message.slice(1)}.`).join(" ");
}

function keptOf({ log_key, note }: z.infer<typeof LedgerCheckpoint>): KeptCheckpoint {
  return { logKey: log_key, size: sizeOf(note), note, at: new Date().toISOString() };
}

const Kept = z.object({ logKey: z.string(), size: z.int(), note: z.string(), at: z.string() });

/** The newest checkpoint that this browser has verified. */
type KeptCheckpoint = z.infer<typeof Kept>;

const KEY = "reins.checkpoint";

/** Reads the kept checkpoint; undefined before the first. */
export function keptCheckpoint(): KeptCheckpoint | undefined {
  const text = localStorage.getItem(KEY);
  if (text === null) return undefined;
  try {
    return Kept.parse(JSON.parse(text));
  } catch {
    // An unreadable checkpoint proves nothing; the next one counts as the first.
    return undefined;
  }
}

/** Decides which checkpoint to keep: another tab may have verified a newer one. */
export function newerOf(kept: KeptCheckpoint | undefined, found: KeptCheckpoint): KeptCheckpoint {
  return kept && kept.logKey === found.logKey && kept.size > found.size ? kept : found;
}

function keepCheckpoint(checkpoint: KeptCheckpoint): void {
  localStorage.setItem(KEY, JSON.stringify(checkpoint));
}

const EVERY_MS = 60_000;

/** The query key of the comparison. */
export const COMPARISON = ["comparison"] as const;

/** Compares the ledger with the kept checkpoint on load, on focus and every minute. */
export function useComparison() {
  return useQuery({
    queryKey: COMPARISON,
    queryFn: ({ signal }) => compareWithKept(signal),
    refetchInterval: EVERY_MS,
    refetchOnReconnect: "always",
    refetchOnWindowFocus: "always",
  });
}
