import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { textOf } from "../test/ledger-maker.ts";
import { proofOf } from "../test/proof-maker.ts";
import { inPieces } from "../test/read.ts";
import { makeSample } from "../test/sample.ts";
import { verifyFile } from "./export/verify-export.ts";

const { ledger } = makeSample();
const exported = textOf(ledger.lines());
const proof = proofOf(ledger, 5, 1);

it.each([
  ["an export", exported, 19],
  ["a compressed export", gzipSync(exported), 19],
  ["a proof file on one line", JSON.stringify(proof), 2],
  ["a proof file on many lines", JSON.stringify(proof, undefined, 2), 2],
  [
    "a proof file with its members in another order",
    JSON.stringify(Object.fromEntries(Object.entries(proof).toReversed())),
    2,
  ],
  ["a compressed proof file", gzipSync(JSON.stringify(proof)), 2],
])("recognizes %s by its content", async (_, content, entries) => {
  const report = await verifyFile(inPieces(Buffer.from(content), 64), { logKey: ledger.logKey });
  expect(report).toMatchObject({ ok: true, entries, faults: [] });
});

it.each([
  ["nothing", ""],
  ["anything", "hello\nworld\n"],
  ["a damaged export", exported.slice(10)],
  ["damaged compression", gzipSync(exported).fill(0, 20, 40)],
  ["a damaged proof file", JSON.stringify(proof).replace("reins-proof/1", "reins-proof/9")],
])("takes %s for an export that is not one", async (_, content) => {
  const { ok, faults } = await verifyFile(inPieces(Buffer.from(content), 64));
  expect(ok).toBe(false);
  expect(faults.length).toBeGreaterThan(0);
});
