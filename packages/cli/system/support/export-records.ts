import { buildEntry, type LedgerEntry } from "@reins/ledger";

/** The line of an entry. */
export interface EntryRecord {
  kind: "entry";
  seq: number;
  entry: LedgerEntry;
}

/** A line of an export, taken apart. */
export type ExportRecord =
  | { kind: "header"; format: string; origin: string; log_key: string; size: number }
  | EntryRecord
  | { kind: "checkpoint"; note: string }
  | { kind: "artifact"; digest: string; bytes: string }
  | { kind: "end"; size: number };

/** An export that a test changes. */
export class ExportRecords {
  records: ExportRecord[];

  constructor(lines: readonly string[]) {
    this.records = lines.map((line) => JSON.parse(line));
  }

  /** The lines of the entries. */
  get entries(): EntryRecord[] {
    return this.records.filter((record) => record.kind === "entry");
  }

  /** The first entry that fits, and what comes behind it in its session. */
  find(fits: (entry: LedgerEntry) => boolean): EntryRecord {
    const found = this.entries.find(({ entry }) => fits(entry));
    if (!found) throw new Error("the sample holds no such entry");
    return found;
  }

  /** The next entry that has this one for its parent. */
  followerOf({ entry, seq }: EntryRecord): EntryRecord {
    return this.find(({ cid, parents }) => cid !== entry.cid && parents.includes(entry.cid) && seq >= 0);
  }

  /** Puts other lines in the place of one. */
  replace(record: ExportRecord, ...others: ExportRecord[]): void {
    this.records.splice(this.records.indexOf(record), 1, ...others);
  }

  /** Numbers the entries anew and corrects the sizes, as an attacker would who wants to stay unnoticed. */
  renumber(): void {
    for (const [seq, record] of this.entries.entries()) record.seq = seq;
    for (const record of this.records)
      if (record.kind === "header" || record.kind === "end") record.size = this.entries.length;
  }

  /** The export, line by line. */
  async *lines(): AsyncGenerator<string> {
    for (const record of this.records) yield `${JSON.stringify(record)}\n`;
  }
}

/** An entry with other content, under the content id that this content has. */
export function renamed(entry: LedgerEntry, changes: Partial<LedgerEntry> = {}): LedgerEntry {
  const { cid: _, ...content } = { ...entry, ...changes };
  return buildEntry(content).entry;
}

/** A value that differs from the given one in as little as possible. */
export function nudged(value: unknown): unknown {
  if (typeof value === "string") return value === "" ? "x" : nudgedText(value);
  if (typeof value === "number") return value + 1;
  if (typeof value === "boolean") return !value;
  if (Array.isArray(value)) return value.length === 0 ? ["x"] : [nudged(value[0]), ...value.slice(1)];
  if (typeof value !== "object" || value === null) return { x: 1 };
  const [first, ...rest] = Object.entries(value);
  return first ? Object.fromEntries([[first[0], nudged(first[1])], ...rest]) : { x: 1 };
}

/** One bit of one character changed. */
function nudgedText(text: string): string {
  const middle = Math.floor(text.length / 2);
  return text.slice(0, middle) + String.fromCharCode(text.charCodeAt(middle) ^ 1) + text.slice(middle + 1);
}
