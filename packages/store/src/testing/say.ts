import { writeSync } from "node:fs";

/** Tells the process that started this one. Once it returns, what was said is heard even if this process is killed. */
export function say(something: unknown): void {
  let left = Buffer.from(`${JSON.stringify(something)}\n`);
  while (left.length > 0) left = left.subarray(writeSome(left));
}

function writeSome(bytes: Buffer): number {
  try {
    return writeSync(1, bytes);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EAGAIN")) throw error;
    // The other end has yet to read what was said before.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    return 0;
  }
}
