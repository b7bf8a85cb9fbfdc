import type { VerifyOptions } from "../options.ts";
import type { Report } from "../report.ts";
import { type AuditSettings, ExportAudit } from "./audit.ts";
import { type ExportSource, type LineBatches, readLines, withoutErrors } from "./read.ts";

/** How many entries lie between two reports of progress. */
const PROGRESS_STEP = 4_096;

/**
 * Verifies an export: pieces of its bytes, compressed with gzip or not, or its lines one by one. Faults are in the
 * report; it throws only when the options are wrong, Ed25519 is missing or the signal aborts.
 */
export function verifyExport(source: ExportSource, options: VerifyOptions = {}): Promise<Report> {
  return verifyLines(readLines(source), options);
}

/** The same for lines that come in batches. */
export async function verifyLines(batches: LineBatches, settings: AuditSettings): Promise<Report> {
  const { signal, onProgress } = settings;
  const audit = new ExportAudit(settings);
  let reported = 0;
  for await (const batch of withoutErrors(batches)) {
    signal?.throwIfAborted();
    for (const line of batch) {
      audit.take(line);
      if (audit.busy) await audit.room();
    }
    if (audit.entries - reported < PROGRESS_STEP) continue;
    reported = audit.entries;
    onProgress?.({ entries: reported, total: audit.total });
  }
  signal?.throwIfAborted();
  const report = await audit.finish();
  onProgress?.({ entries: audit.entries, total: audit.total });
  return report;
}
