import type { InspectedEntry } from "../entry/entry.ts";
import { isObject, type JsonValue } from "../json/parse.ts";
import {
  ANYTHING,
  COUNT,
  DIGEST,
  fits,
  literal,
  type Mismatch,
  mismatches,
  type Shape,
  show,
  TEXT,
} from "../json/shape.ts";

/** The format this verifier knows. */
export const FORMAT = "reins-ledger/1";

/** The first line. */
export type Header = { kind: "header"; format: string; origin: string; log_key: string; size: number };
/** An entry and its place. */
export type EntryRecord = { kind: "entry"; seq: number; entry: JsonValue };
/** What the log signed when it had so many entries. */
type CheckpointRecord = { kind: "checkpoint"; note: string };
/** Private content that an entry refers to. */
export type ArtifactRecord = { kind: "artifact"; digest: string; bytes: string };
/** The last line. */
type End = { kind: "end"; size: number };

/** What a line of an export says. */
export type ExportRecord = Header | EntryRecord | CheckpointRecord | ArtifactRecord | End;

const HEADER: Shape<Header> = {
  kind: literal("header"),
  format: literal(FORMAT),
  origin: TEXT,
  log_key: TEXT,
  size: COUNT,
};
const ENTRY: Shape<EntryRecord> = { kind: literal("entry"), seq: COUNT, entry: ANYTHING };
const CHECKPOINT: Shape<CheckpointRecord> = { kind: literal("checkpoint"), note: TEXT };
const ARTIFACT: Shape<ArtifactRecord> = { kind: literal("artifact"), digest: DIGEST, bytes: TEXT };
const END: Shape<End> = { kind: literal("end"), size: COUNT };
const KINDS = "header, entry, checkpoint, artifact or end";

/** Whether a value is a line of an export. */
export function isRecord(value: JsonValue): value is ExportRecord {
  if (!isObject(value)) return false;
  switch (value.kind) {
    case "entry":
      return fits(value, ENTRY);
    case "checkpoint":
      return fits(value, CHECKPOINT);
    case "artifact":
      return fits(value, ARTIFACT);
    case "header":
      return fits(value, HEADER);
    case "end":
      return fits(value, END);
    default:
      return false;
  }
}

/** What keeps a value from being a line of an export. */
export function recordMismatches(value: JsonValue): Mismatch[] {
  const kind = isObject(value) ? value.kind : undefined;
  switch (kind) {
    case "entry":
      return mismatches(value, ENTRY);
    case "checkpoint":
      return mismatches(value, CHECKPOINT);
    case "artifact":
      return mismatches(value, ARTIFACT);
    case "header":
      return mismatches(value, HEADER);
    case "end":
      return mismatches(value, END);
    default:
      return [{ message: "is of no known kind", expected: KINDS, found: show(kind ?? value) }];
  }
}

/** The line of an entry as a ledger writes it: the content id in front of the canonical form of the rest. */
export function entryText(seq: string, cid: string, body: string): string {
  return `{"kind":"entry","seq":${seq},"entry":{"cid":${cid},${body.slice(1)}}`;
}

/** Whether a line is what a ledger would write for the entry read from it, so that nothing in it is there twice. */
export function isAsWritten(text: string, seq: number, { entry, content }: InspectedEntry): boolean {
  if (entry === undefined || content === undefined) return false;
  return text === entryText(`${seq}`, `"${entry.cid}"`, content.body);
}
