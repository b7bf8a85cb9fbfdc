import { createInterface } from "node:readline/promises";
import type { ReadStream, WriteStream } from "node:tty";

/** Asks the person at the terminal; where there is none, whoever ran the command has agreed by running it. */
export async function isAgreed(input: ReadStream, output: WriteStream): Promise<boolean> {
  if (!input.isTTY || !output.isTTY) return true;
  const lines = createInterface({ input, output });
  try {
    const answer = await lines.question("\nPut it into force? [y/N] ");
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    lines.close();
  }
}
