import { expect, it } from "vitest";
import { textOf } from "../test/ledger-maker.ts";
import { verifyWhole } from "../test/read.ts";
import { makeSample } from "../test/sample.ts";
import { withEntry } from "../test/tamper.ts";
import { formatReport } from "./report.ts";

const { ledger, seen } = makeSample();
const lines = ledger.lines();

it("ends with a plain verdict when everything holds", async () => {
  const report = await verifyWhole(lines, { logKey: ledger.logKey, seen });
  expect(formatReport(report).split("\n")).toEqual([
    "checked: 19 entries, 4 checkpoints, 11 valid signatures, 1 piece of private content withheld",
    `log key: ${ledger.logKey} (as you gave it)`,
    "seen before: extends the ledger you saw at size 11",
    "note: withheld private content is known by its digest only; its entries verify all the same",
    "VERIFIED: everything holds",
  ]);
});

it("names every fault by its entry, with what was expected, and ends with a plain verdict", async () => {
  const report = await verifyWhole(withEntry(lines, 7, () => ({ payload: null })));
  const [first, expected, found, empty, ...rest] = formatReport(report).split("\n");
  const { cid } = ledger.entries[7]!;
  expect(first).toBe(
    `entry 7 (${cid.slice(0, 16)}): the content id does not belong to the content: one of them was changed [cid_mismatch]`,
  );
  expect(expected).toMatch(/^ {4}expected [0-9a-f]{64}$/);
  expect(found).toBe(`    found    ${cid}`);
  expect(empty).toBe("");
  expect(rest.at(-1)).toBe(`NOT VERIFIED: 1 fault, the first at entry 7 (${cid.slice(0, 16)})`);
});

it("says how many faults it does not list", async () => {
  const report = await verifyWhole(textOf(lines).replaceAll('"tags"', '"tag"'), { maxFaults: 2 });
  expect(formatReport(report)).toMatch(/^and \d+ more faults$/m);
  expect(formatReport(await verifyWhole("", { maxFaults: 0 }))).toMatch(/NOT VERIFIED: 2 faults$/);
});

it("does not let a ledger speak to the terminal", async () => {
  const report = await verifyWhole([{ kind: "\u001b[2J\u202egnp", size: 0 }]);
  expect(formatReport(report)).toContain("\\u{202e}gnp");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what must not be there.
  expect(formatReport(report).replaceAll("\n", "")).not.toMatch(/[\u0000-\u001f\u202a-\u202e]/);
});
