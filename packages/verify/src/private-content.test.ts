import { describe, expect, it } from "vitest";
import { type ExportLine, LedgerMaker } from "../test/ledger-maker.ts";
import { faultsOf, verifyWhole } from "../test/read.ts";
import { envelope } from "../test/sample.ts";
import type { JsonValue } from "./json/parse.ts";

function ledgerWith(payload: (ledger: LedgerMaker) => JsonValue): LedgerMaker {
  const ledger = new LedgerMaker();
  ledger.append({ quality: "tool_result", payload: payload(ledger) });
  ledger.checkpoint();
  return ledger;
}

describe("private content", () => {
  const ledger = ledgerWith((maker) => ({
    deep: [maker.keepPrivate("secret")],
    again: maker.keepPrivate("secret"),
  }));
  const lines = ledger.lines();
  const place = lines.findIndex(({ kind }) => kind === "artifact");

  it("is compared with its digest", async () => {
    expect(await verifyWhole(lines)).toMatchObject({ ok: true, withheld: 0 });
  });

  it("counts as withheld once it is erased, and the ledger still verifies", async () => {
    expect(await verifyWhole(lines.toSpliced(place, 1))).toMatchObject({ ok: true, withheld: 1 });
  });

  it("may come anywhere behind its entry", async () => {
    const later = lines.toSpliced(place, 1).toSpliced(-1, 0, lines[place]!);
    expect(await verifyWhole(later)).toMatchObject({ ok: true, withheld: 0 });
  });

  it.each([
    ["was changed", { bytes: Buffer.from("x".repeat(38)).toString("base64") }, ["artifact_mismatch@1"]],
    ["is of no entry", { digest: "0".repeat(64) }, ["artifact_unreferenced"]],
    ["is not base64", { bytes: "?" }, ["line_malformed"]],
  ])("that %s is a fault, with its entry named", async (_, change: ExportLine, faults) => {
    const report = await verifyWhole(lines.with(place, { ...lines[place], ...change }));
    expect(faultsOf(report)).toEqual(faults);
  });

  it("that comes before its entry, or twice, is a fault", async () => {
    const line = lines[place]!;
    expect(faultsOf(await verifyWhole(lines.toSpliced(1, 0, line)))).toEqual(["artifact_unreferenced"]);
    expect(faultsOf(await verifyWhole(lines.toSpliced(place, 0, line)))).toEqual(["artifact_repeated@1"]);
  });

  it("of another size than stated is a fault", async () => {
    const wrong = ledgerWith((maker) => {
      const { digest } = Object(maker.keepPrivate("secret").$private);
      return [{ $private: { digest, size: 7 } }];
    });
    expect(faultsOf(await verifyWhole(wrong.lines()))).toEqual(["private_size@1"]);
    const torn = ledgerWith((maker) => {
      const { digest } = Object(maker.keepPrivate("secret", true).$private);
      return [{ $private: { digest, size: 6 } }, { $private: { digest, size: 7 } }];
    });
    expect(faultsOf(await verifyWhole(torn.lines()))).toEqual(["private_size@1"]);
  });

  it.each([
    { $private: "mine" },
    { $private: { digest: "short", size: 1 } },
    { $private: { digest: "0".repeat(64), size: -1 } },
    { $private: { digest: "0".repeat(64), size: 1, more: 1 } },
    { $private: { digest: "0".repeat(64), size: 1 }, more: 1 },
  ])("is not what only resembles it: %j", async (payload) => {
    expect(await verifyWhole(ledgerWith(() => payload).lines())).toMatchObject({ ok: true, withheld: 0 });
  });
});

describe("an envelope", () => {
  const good = envelope();
  const parts = good.encrypted_key.split(".");

  it.each([
    ["nothing in it", {}, { sealed: true }, "envelope_malformed"],
    ["something beside", { ...good, more: "" }, { sealed: true }, "envelope_malformed"],
    [
      "a key of another version",
      { ...good, encrypted_key: good.encrypted_key.replace("v1", "v2") },
      { sealed: true },
      "envelope_malformed",
    ],
    [
      "a key without an id",
      { ...good, encrypted_key: parts.with(1, "").join(".") },
      { sealed: true },
      "envelope_malformed",
    ],
    [
      "a key with more parts",
      { ...good, encrypted_key: `${good.encrypted_key}.AAAA` },
      { sealed: true },
      "envelope_malformed",
    ],
    [
      "a short ephemeral key",
      { ...good, encrypted_key: parts.with(2, "AAAA").join(".") },
      { sealed: true },
      "envelope_malformed",
    ],
    [
      "a short wrapped key",
      { ...good, encrypted_key: parts.with(3, "AAAA").join(".") },
      { sealed: true },
      "envelope_malformed",
    ],
    ["no ciphertext", { ...good, ciphertext: "AAAA" }, { sealed: true }, "envelope_malformed"],
    ["the payload beside it", good, { secret: 1 }, "envelope_open"],
    ["more than the seal beside it", good, { sealed: true, hint: 1 }, "envelope_open"],
  ])("with %s is a fault", async (_, malformed: ExportLine, payload: JsonValue, code) => {
    const ledger = new LedgerMaker();
    ledger.append({ quality: "tool_result", envelope: malformed, payload });
    ledger.checkpoint();
    expect(new Set(faultsOf(await verifyWhole(ledger.lines())))).toEqual(new Set([`${code}@1`]));
  });
});
