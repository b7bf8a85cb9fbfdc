import { isObject, type JsonValue } from "../json/parse.ts";
import type { VerifyOptions } from "../note.ts";
import { PROOF_FORMAT, verifyProof } from "../proof/verify-proof.ts";
import type { Report } from "../report.ts";
import { type AuditSettings, ExportAudit } from "./audit.ts";
import {
  decompressed,
  type ExportSource,
  type LineBatches,
  linesOfBytes,
  peek,
  readLines,
  withoutErrors,
} from "./read.ts";

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

/** Larger than any proof file, whose two entries have a mebibyte each. */
const PROOF_LIMIT = 16 * 1024 * 1024;
const NEWLINE = 0x0a;

/** Verifies the bytes of a file, whichever it is: an export, compressed or not, or a proof file. */
export async function verifyFile(
  chunks: AsyncIterable<Uint8Array>,
  options: AuditSettings = {},
): Promise<Report> {
  const start = await peek(
    decompressed(chunks),
    (head) => head.length > PROOF_LIMIT || head.includes(NEWLINE),
  );
  if (!startsProof(start.head)) return verifyLines(linesOfBytes(start.whole), options);
  const { head, whole } = await peek(start.whole, ({ length }) => length > PROOF_LIMIT);
  await whole.return(undefined);
  return verifyProof(head, options);
}

/** An export starts with a whole object on its first line, and that is a header. */
function startsProof(head: Uint8Array): boolean {
  const end = head.indexOf(NEWLINE);
  const line = new TextDecoder().decode(end < 0 ? head : head.subarray(0, end)).trim();
  if (line === "{") return true;
  try {
    const value: JsonValue = JSON.parse(line);
    return isObject(value) && value.format === PROOF_FORMAT;
  } catch {
    // A first line that is damaged is for the verification of exports to complain about.
    return false;
  }
}
