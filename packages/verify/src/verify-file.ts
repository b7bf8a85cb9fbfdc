import type { AuditSettings } from "./export/audit.ts";
import { decompressed, linesOfBytes, peek } from "./export/read.ts";
import { verifyLines } from "./export/verify-export.ts";
import { isObject, type JsonValue } from "./json/parse.ts";
import { PROOF_FORMAT } from "./proof/proof-file.ts";
import { verifyProof } from "./proof/verify-proof.ts";
import type { Report } from "./report.ts";

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
