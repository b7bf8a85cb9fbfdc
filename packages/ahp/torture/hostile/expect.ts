import { within } from "../bounds.ts";
import type { RawStream } from "../raw/stream.ts";

/** Waits for exactly these replies, in any order. */
export async function expectReplies({ inbox }: RawStream, expected: readonly string[]): Promise<void> {
  await within(`${expected.length} replies`, inbox.holding(expected.length));
  expectSame("replies", inbox.take().toSorted(), expected.toSorted());
}

/** Throws unless two values are written alike. */
export function expectSame(what: string, found: unknown, expected: unknown): void {
  const [got, wanted] = [JSON.stringify(found), JSON.stringify(expected)];
  if (got !== wanted) throw new Error(`${what}: wanted ${wanted?.slice(0, 500)}, got ${got?.slice(0, 500)}`);
}
