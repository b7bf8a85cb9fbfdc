import { hostname } from "node:os";
import { isRecord, LruCache } from "@reins/kit";
import type { LedgerEntry, LedgerReader, PlacedEntry } from "@reins/ledger";
import { ocsfEvent } from "./ocsf.ts";

/** The formats of audit records. */
export const AUDIT_FORMATS = ["jsonl", "ocsf"] as const;
export type AuditFormat = (typeof AUDIT_FORMATS)[number];

/** A place in a ledger: of the last record that was received. */
export interface AuditCursor {
  readonly seq: number;
  /** The content id of the entry at that place; without one it is not compared. */
  readonly cid?: string | undefined;
}

/** Before all entries. */
export const FIRST: AuditCursor = { seq: -1 };

/** A cursor as text: `<seq>.<cid>`. */
export function cursorText({ seq, cid }: AuditCursor): string {
  return cid === undefined ? String(seq) : `${seq}.${cid}`;
}

/** Reads a cursor as {@link cursorText} writes it; nothing where it is none. */
export function readCursor(text: string): AuditCursor | undefined {
  const { seq, cid } = /^(?<seq>\d{1,15})(?:\.(?<cid>[0-9a-f]{64}))?$/.exec(text)?.groups ?? {};
  return seq === undefined ? undefined : { seq: Number(seq), cid };
}

/** The cursor of a record as a line, of either format; nothing where it is no record. */
export function cursorIn(line: string): AuditCursor | undefined {
  let record: unknown;
  try {
    record = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (!isRecord(record)) return undefined;
  const { metadata, cursor } = record;
  if (typeof cursor === "string") return readCursor(cursor);
  return isRecord(metadata) ? readCursor(`${metadata.sequence}.${metadata.uid}`) : undefined;
}

/** Whether a ledger has the entry of a cursor at its place. */
export async function isCursorOf(
  ledger: Pick<LedgerReader, "read">,
  { seq, cid }: AuditCursor,
): Promise<boolean> {
  if (seq < 0) return true;
  const [placed] = await ledger.read({ after: seq - 1, order: "oldest", limit: 1 });
  return placed?.seq === seq && (cid === undefined || placed.entry.cid === cid);
}

const MOST_VERDICTS = 1_000;

/** Writes entries as audit records, one line each. */
export class AuditRecords {
  readonly #ledger: Pick<LedgerReader, "get">;
  readonly #format: AuditFormat;
  readonly #context: { readonly version: string; readonly hostname: string };
  readonly #verdicts = new LruCache<string, LedgerEntry>({ entries: MOST_VERDICTS });

  constructor(ledger: Pick<LedgerReader, "get">, format: AuditFormat, version: string) {
    this.#ledger = ledger;
    this.#format = format;
    this.#context = { version, hostname: hostname() };
  }

  async line(placed: PlacedEntry): Promise<string> {
    const { seq, entry } = placed;
    if (this.#format === "jsonl") {
      const cursor = cursorText({ seq, cid: entry.cid });
      return `${JSON.stringify({ cursor, seq, entry })}\n`;
    }
    const verdict = await this.#verdictOf(entry);
    return `${JSON.stringify(ocsfEvent(placed, { ...this.#context, verdict }))}\n`;
  }

  /** The verdict that a tool call or its result refers to. */
  async #verdictOf(entry: LedgerEntry): Promise<LedgerEntry | undefined> {
    if (entry.quality === "policy_verdict") this.#verdicts.set(entry.cid, entry);
    if (entry.quality !== "tool_call" && entry.quality !== "tool_result") return undefined;
    const cid = isRecord(entry.payload) ? entry.payload.verdict : undefined;
    if (typeof cid !== "string") return undefined;
    return this.#verdicts.get(cid) ?? (await this.#ledger.get(cid))?.entry;
  }
}
