import { describe, expect, test } from "vitest";
import { blake3Hex } from "../blake3.ts";
import { canonicalJson } from "../canonical.ts";
import type { EntryContent, Proof } from "./entry.ts";
import { buildEntry } from "./entry-builder.ts";

const content: EntryContent = {
  entity_id: "reed:cli:local",
  target: "session",
  quality: "turn",
  timestamp: "2026-11-15T05:20:00.000Z",
  source: "reed:cli:local",
  actor: "reed",
  parents: [],
  tags: ["a"],
  payload: { inputs_hash: "i", outputs_hash: "o", timestamp: "t", actor: "reed" },
  proof: null,
  envelope: null,
};

describe("a content id", () => {
  test("is BLAKE3 of the canonical form of the other members", () => {
    const { entry, body } = buildEntry(content);
    expect(entry.cid).toMatch(/^[0-9a-f]{64}$/);
    expect(body).toBe(canonicalJson(content));
    expect(entry.cid).toBe(blake3Hex(body));
  });

  test("is the same for the same content in any order", () => {
    const reversed = Object.fromEntries(Object.entries(content).reverse());
    expect(buildEntry({ ...content, ...reversed }).entry.cid).toBe(buildEntry(content).entry.cid);
  });

  test.each(
    Object.entries({
      entity_id: "x",
      target: "x",
      quality: "kill",
      timestamp: "2026-11-15T05:20:00.001Z",
      source: "x",
      actor: "x",
      parents: ["a".repeat(64)],
      tags: [],
      payload: { other: 1 },
      proof: { type: "zk_stark", stark_proof: "p", public_inputs: [1] },
      envelope: { audience_label: "a", encrypted_key: "k", ciphertext: "c" },
    } satisfies Partial<EntryContent>),
  )("changes with %s", (member, value) => {
    expect(buildEntry({ ...content, [member]: value }).entry.cid).not.toBe(buildEntry(content).entry.cid);
  });

  test("cannot be given", () => {
    const forged = { ...content, cid: "0".repeat(64) };
    expect(() => buildEntry(forged)).toThrow("cid");
  });
});

describe("what is no entry", () => {
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;

  test.each<[string, unknown, string]>([
    ["a Map", { map: new Map() }, "entry.payload.map: a Map is not a plain object"],
    ["a function", { run: () => {} }, "entry.payload.run: a value of type function"],
    ["nothing", [undefined], "entry.payload[0]: a value of type undefined"],
    ["a lone surrogate", { text: "\ud800" }, "entry.payload.text: a string holds half"],
    ["a lone surrogate in a key", { "\ud800": 1 }, "a key holds half"],
    ["NaN", { n: Number.NaN }, "entry.payload.n: NaN"],
    ["infinity", [Infinity], "entry.payload[0]: Infinity"],
    ["a bigint", 1n, "entry.payload: a value of type bigint"],
    ["a Date", new Date(0), "a Date is not a plain object"],
    ["a cycle", cycle, "or a cycle"],
  ])("is refused with a clear error: %s", (_, payload, text) => {
    expect(() => buildEntry({ ...content, payload })).toThrow(text);
  });

  test("an entry beyond the bound, a bad time, an unknown quality, a parent that is no id", () => {
    expect(() => buildEntry({ ...content, payload: "x".repeat(1024 * 1024) })).toThrow(
      "at most 1048576 bytes",
    );
    expect(() => buildEntry({ ...content, timestamp: "2026-11-15T05:20:00Z" })).toThrow("RFC 3339");
    expect(() => buildEntry({ ...content, quality: "guess" as "turn" })).toThrow("quality");
    expect(() => buildEntry({ ...content, parents: ["ABC"] })).toThrow("64 lower-case hexadecimal digits");
  });
});

test("proofs and envelopes survive being written and read", () => {
  const attestation: Proof = {
    type: "attestation",
    key_id: "0011223344556677",
    rules_checked: ["r"],
    predicate_results: [true],
    signature: "AAAA",
  } as const;
  for (const proof of [
    attestation,
    { type: "zk_stark", stark_proof: "p", public_inputs: { n: [1] } } as const,
  ]) {
    const envelope = { audience_label: "a", encrypted_key: "k", ciphertext: "c" };
    const { body } = buildEntry({ ...content, proof, envelope });
    expect(JSON.parse(body)).toMatchObject({ proof, envelope });
  }
});
