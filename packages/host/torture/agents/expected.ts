import { readFileSync } from "node:fs";
import { z } from "zod";

const Cells = z.record(z.string(), z.string());
const ExpectedCells = z.strictObject({ free: Cells, confined: Cells });

/** What becomes of each case with one agent, not confined and confined. */
export type ExpectedCells = z.infer<typeof ExpectedCells>;

/** What becomes of each case, by agent: `expected.json`. */
export function expectedCells(): Readonly<Record<string, ExpectedCells>> {
  const file = new URL("./expected.json", import.meta.url);
  return z.record(z.string(), ExpectedCells).parse(JSON.parse(readFileSync(file, "utf8")));
}
