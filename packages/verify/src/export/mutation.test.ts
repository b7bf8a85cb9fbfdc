import fc from "fast-check";
import { expect, it } from "vitest";
import { textOf } from "../../test/ledger-maker.ts";
import { byteMutations, lineMutations, meaningOf, valueMutations } from "../../test/mutation.ts";
import { verifyWhole } from "../../test/read.ts";
import { makeSample } from "../../test/sample.ts";

const { ledger } = makeSample();
const lines = ledger.lines();

it.each([
  ["byte", byteMutations(Buffer.from(textOf(lines)))],
  ["value", valueMutations(lines)],
  ["line", lineMutations(lines)],
])("any single mutation of a %s is caught", async (_, mutations) => {
  await fc.assert(
    fc.asyncProperty(mutations, async (mutated) => {
      const report = await verifyWhole(mutated, { logKey: ledger.logKey });
      if (report.ok) expect(meaningOf(mutated)).toEqual(lines);
    }),
    { numRuns: 100 },
  );
});
