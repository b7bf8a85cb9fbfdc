/** A response as far as anybody here looks at it. */
export interface HttpReply {
  readonly status: number;
  readonly body: string;
}

const BLANK_LINE = "\r\n\r\n";
const NO_CHUNKS = "0\r\n\r\n";

/** Cuts the responses that are complete off the start of some bytes. Throws when they are no responses. */
export function readReplies(bytes: Buffer): { replies: HttpReply[]; rest: Buffer } {
  const replies: HttpReply[] = [];
  let rest = bytes;
  for (;;) {
    const end = rest.indexOf(BLANK_LINE);
    if (end < 0) return { replies, rest };
    const head = rest.toString("latin1", 0, end);
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]);
    if (Number.isNaN(status)) throw new Error(`not a response: ${JSON.stringify(head.slice(0, 200))}`);
    const length = Number(/^content-length: *(\d+)$/im.exec(head)?.[1] ?? 0);
    const start = end + BLANK_LINE.length;
    // Node answers some faults by itself, in chunks, of which there are none.
    const tail = /^transfer-encoding: chunked$/im.test(head) ? NO_CHUNKS.length : 0;
    if (rest.length < start + length + tail) return { replies, rest };
    // An interim response stands before the one that counts.
    if (status >= 200) replies.push({ status, body: rest.toString("utf8", start, start + length) });
    rest = rest.subarray(start + length + tail);
  }
}
