import assert from "node:assert/strict";
import fc from "fast-check";
import type { Torture } from "../../../scripts/torture/torture.ts";
import { textOf } from "../test/ledger-maker.ts";
import { byteMutations, lineMutations, type Mutated, meaningOf, valueMutations } from "../test/mutation.ts";
import { verifyWhole } from "../test/read.ts";
import { makeSample } from "../test/sample.ts";

const { ledger } = makeSample();
const lines = ledger.lines();
const bytes = Buffer.from(textOf(lines));

const torture: Torture = {
  name: "verify-mutation",
  title: "Every flipped bit of an export is caught, and many thousand other mutations.",
  async run({ seed, scale, signal, log }) {
    const everyBit = scale === "full" ? 1 : 401;
    for (let bit = seed % everyBit; bit < bytes.length * 8; bit += everyBit) {
      signal.throwIfAborted();
      const mutated = Buffer.from(bytes);
      const place = Math.floor(bit / 8);
      mutated[place] = (mutated[place] ?? 0) ^ (1 << (bit % 8));
      await expectCaught(mutated, `bit ${bit % 8} of byte ${place}`);
      if (bit % 8_000 < everyBit) log(`${Math.floor(bit / 8)} of ${bytes.length} bytes`);
    }
    const numRuns = scale === "full" ? 20_000 : 50;
    for (const mutations of [byteMutations(bytes), valueMutations(lines), lineMutations(lines)]) {
      const property = fc.asyncProperty(mutations, async (mutated) => {
        signal.throwIfAborted();
        await expectCaught(mutated, "a mutation");
      });
      await fc.assert(property, { seed, numRuns });
      log(`${numRuns} mutations`);
    }
  },
};

export default torture;

async function expectCaught(mutated: Mutated, what: string): Promise<void> {
  const report = await verifyWhole(mutated, { logKey: ledger.logKey });
  if (report.ok) assert.deepEqual(meaningOf(mutated), lines, `${what} is not noticed`);
}
