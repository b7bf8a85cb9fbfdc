import { createInterface } from "node:readline/promises";

/** Where a person would answer, if one sits there. */
type Answering = NodeJS.ReadableStream & { readonly isTTY?: boolean };

/** Asks the person at the terminal; where nobody sits at one, whoever ran the command has agreed by running it. */
export async function isAgreed(input: Answering, output: NodeJS.WritableStream): Promise<boolean> {
  if (!input.isTTY) return true;
  const lines = createInterface({ input, output });
  try {
    const answer = await lines.question("\nPut it into force? [y/N] ");
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    lines.close();
  }
}
