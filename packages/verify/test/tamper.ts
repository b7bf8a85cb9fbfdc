import { ENTRY, type Entry } from "../src/entry/entry.ts";
import { fits } from "../src/json/shape.ts";
import { type ExportLine, sealed } from "./ledger-maker.ts";

/** The entry on a line. */
export function entryOf(line: ExportLine | undefined): Entry {
  if (!fits(line?.entry, ENTRY)) throw new Error("there is no entry on that line");
  return line.entry;
}

/** The lines with the entry of that number changed, its content id as it was. */
export function withEntry(
  lines: readonly ExportLine[],
  seq: number,
  change: (entry: Entry) => Partial<Entry>,
): ExportLine[] {
  return lines.map((line) => {
    if (line.kind !== "entry" || line.seq !== seq) return line;
    const entry = entryOf(line);
    return { ...line, entry: { ...entry, ...change(entry) } };
  });
}

/** The entry with a content id that fits again, as a forger would make it. */
export function resealed({ cid: _, ...content }: Entry): Entry {
  return sealed(content);
}

/** The lines with what a forger can put right by counting: numbers and sizes. */
export function recounted(lines: readonly ExportLine[]): ExportLine[] {
  const size = lines.filter(({ kind }) => kind === "entry").length;
  let seq = -1;
  return lines.map((line) => {
    if (line.kind === "entry") {
      seq += 1;
      return { ...line, seq };
    }
    return line.kind === "header" || line.kind === "end" ? { ...line, size } : line;
  });
}

/** Where the entry of that number stands among the lines. */
export function lineOf(lines: readonly ExportLine[], seq: number): number {
  return lines.findIndex((line) => line.kind === "entry" && line.seq === seq);
}
