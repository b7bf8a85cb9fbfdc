import { concat } from "../bytes/bytes.ts";
import type { Complaint } from "../report/fault.ts";
import type { Line } from "./line.ts";

/** The longest line that is kept in memory, in bytes. */
const LINE_LIMIT = 256 * 1024 * 1024;

const NEWLINE = 0x0a;

/** Splits bytes into lines. What cannot be read is a complaint in place of the line; reading ends where it breaks. */
export async function* linesOfBytes(
  chunks: AsyncIterable<Uint8Array>,
  limit = LINE_LIMIT,
): AsyncGenerator<readonly Line[]> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let rest: Uint8Array[] = [];
  let held = 0;
  for await (const chunk of chunks) {
    const lines: Line[] = [];
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      const tail = chunk.subarray(start, end);
      lines.push(decode(decoder, rest.length === 0 ? tail : concat(...rest, tail)));
      rest = [];
      held = 0;
      start = end + 1;
    }
    if (start < chunk.length) {
      // Copied, because whoever lent the chunk may use it again.
      rest.push(new Uint8Array(chunk.subarray(start)));
      held += chunk.length - start;
    }
    if (lines.length > 0) yield lines;
    if (held > limit) {
      yield [{ code: "line_too_long", message: `a line is longer than ${limit} bytes; reading ended there` }];
      return;
    }
  }
  if (rest.length > 0) yield [decode(decoder, concat(...rest))];
}

/** Takes a line at a time. */
export async function* linesOfText(lines: AsyncIterable<string>): AsyncGenerator<readonly Line[]> {
  for await (const line of lines) yield [line.endsWith("\n") ? line.slice(0, -1) : line];
}

function decode(decoder: InstanceType<typeof TextDecoder>, bytes: Uint8Array): Line {
  try {
    return decoder.decode(bytes);
  } catch {
    const complaint: Complaint = { code: "line_not_utf8", message: "the line is not UTF-8" };
    return complaint;
  }
}
