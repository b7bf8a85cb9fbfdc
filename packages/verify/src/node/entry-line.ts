import type { SQLOutputValue } from "node:sqlite";
import type { InspectedEntry } from "../entry/inspect.ts";
import { entryText } from "../export/entry-text.ts";
import type { WitnessedLine } from "../export/line.ts";
import type { Complaint } from "../report/fault.ts";

/** A row of the table of entries. */
export type EntryRow = Record<string, SQLOutputValue>;

/** The members that a row may repeat in columns of their own, to be searched by. */
const COPIED = ["entity_id", "target", "quality", "timestamp", "source", "actor"] as const;

/** A row as the line that an export would have for it. */
export function entryLine(row: EntryRow): WitnessedLine {
  return { text: textOf(row), compare: (inspected) => compare(row, inspected) };
}

function textOf({ seq, cid, body }: EntryRow): string {
  const isObject = typeof body === "string" && body.startsWith("{");
  if (!isObject) return JSON.stringify({ kind: "entry", seq, entry: null });
  return entryText(JSON.stringify(seq), JSON.stringify(cid), body);
}

function compare(row: EntryRow, { entry, content }: InspectedEntry): Complaint[] {
  const complaints: Complaint[] = [];
  if (content !== undefined && content.body !== row.body) {
    complaints.push({
      code: "entry_not_canonical",
      message: "the database holds the entry in another form than the canonical one",
      expected: content.body,
      found: String(row.body),
    });
  }
  for (const member of COPIED) {
    const copy = row[member];
    if (entry === undefined || typeof copy !== "string" || copy === entry[member]) continue;
    complaints.push({
      code: "copy_mismatch",
      message: `the database finds the entry under another ${member} than it has`,
      expected: entry[member],
      found: copy,
    });
  }
  return complaints;
}
