import { verifyExport } from "../src/export/verify-export.ts";
import type { VerifyOptions } from "../src/note.ts";
import type { Report } from "../src/report.ts";
import { type ExportLine, textOf } from "./ledger-maker.ts";

/** Bytes in pieces of a size that cuts lines anywhere. */
export async function* inPieces(bytes: Uint8Array, size = 1_000): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

/** Verifies an export that is given as text, as bytes or as its lines. */
export function verifyWhole(
  whole: string | Uint8Array | readonly ExportLine[],
  options: VerifyOptions = {},
): Promise<Report> {
  const text = typeof whole === "string" || whole instanceof Uint8Array ? whole : textOf(whole);
  return verifyExport(inPieces(typeof text === "string" ? Buffer.from(text) : text), options);
}

/** The faults of a report as `code@seq`. */
export function faultsOf({ faults }: Report): string[] {
  return faults.map(({ code, seq }) => (seq === undefined ? code : `${code}@${seq}`));
}

/** The faults of an export that must not pass, as `code@seq`. */
export async function faultsIn(whole: readonly ExportLine[], options: VerifyOptions): Promise<string[]> {
  const report = await verifyWhole(whole, options);
  if (report.ok) throw new Error("the export was to be refused");
  return faultsOf(report);
}
