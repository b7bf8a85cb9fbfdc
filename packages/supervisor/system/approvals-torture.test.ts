import { expect, test } from "vitest";
import torture from "../torture/approvals.torture.ts";

test("killed at any write and any step, nothing is lost and nothing applied twice", {
  timeout: 170_000,
}, async ({ signal }) => {
  const lines: string[] = [];
  await torture.run({ seed: 20_261_115, scale: "small", signal, log: (line) => lines.push(line) });
  expect(lines.at(-2)).toMatch(/^17 runs, [1-9]\d* kills/);
});
