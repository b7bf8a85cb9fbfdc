import { generateKeyPairSync, verify } from "node:crypto";
import { describe, expect, test } from "vitest";
import { attested, blake3Hex, bodyWith, canonicalJson, prepare } from "./canonical.ts";
import { buildEntry, type EntryContent, type ParentlessContent, type Proof } from "./entry.ts";

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

/** What a text has to say to be taken for a place that is left open. */
const TRAP = '"parents":[],"proof":null,';

const parentless: ParentlessContent = {
  entity_id: `reed:cli:${TRAP}`,
  target: TRAP,
  quality: "turn",
  timestamp: "2026-11-15T05:20:00.000Z",
  source: `${TRAP}\u0007`,
  actor: `a"\u2028é${TRAP}`,
  tags: ["z", TRAP, "a"],
  payload: { parents: [], proof: null, b: 1e21, a: [TRAP, { parents: [], d: 1, c: 2, proof: null }] },
  proof: null,
  envelope: null,
};
const parents = ["a".repeat(64)];

describe("an entry on its way to the writer", () => {
  test("has its canonical form once its parents are known", () => {
    expect(bodyWith(prepare(parentless), parents)).toBe(canonicalJson({ ...parentless, parents }));
    expect(bodyWith(prepare(parentless), [])).toBe(canonicalJson({ ...parentless, parents: [] }));
  });

  test("also where it is sealed, or brings a proof of its own", () => {
    const envelope = { audience_label: TRAP, encrypted_key: "k", ciphertext: "c" };
    const proof = { type: "zk_stark", stark_proof: TRAP, public_inputs: { proof: null } } as const;
    for (const odd of [
      { ...parentless, envelope },
      { ...parentless, proof },
    ])
      expect(bodyWith(prepare(odd), parents)).toBe(canonicalJson({ ...odd, parents }));
  });

  test("also with names that no object holds in the order of their letters", () => {
    const odd = { ...parentless, payload: { 9: 1, 10: 2, b: { 1: TRAP }, a: 1 } };
    expect(bodyWith(prepare(odd), parents)).toBe(canonicalJson({ ...odd, parents }));
  });

  test("is signed without its proof, and then has it", () => {
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    const order = { key_id: "0011223344556677", privateKey, rules_checked: ["r"], predicate_results: [true] };
    const body = bodyWith(attested(prepare(parentless), order), parents);
    const { proof, ...rest } = JSON.parse(body);
    const unsigned = Buffer.from(canonicalJson({ ...rest, proof: null }));
    expect(canonicalJson({ ...rest, proof })).toBe(body);
    expect(rest).toEqual({ ...parentless, parents, proof: undefined });
    expect(verify(null, unsigned, publicKey, Buffer.from(proof.signature, "base64"))).toBe(true);
  });

  test.each<[string, unknown, string]>([
    ["a Map", { m: new Map() }, "payload.m: a Map"],
    ["half of a surrogate pair", { a: [{ b: "\ud800" }] }, "payload.a[0].b: a string holds half"],
    ["nothing", { b: undefined }, "payload.b: a value of type undefined"],
    ["a symbol", { a: { [Symbol("s")]: 1 } }, "payload.a: symbols"],
  ])("is refused with %s in its payload, and where it is", (_, payload, why) => {
    expect(() => prepare({ ...parentless, payload })).toThrow(why);
  });

  test("holds 64 arrays and objects inside each other, itself included, and no more", () => {
    const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);
    const deep = { ...parentless, payload: nested(63) };
    expect(bodyWith(prepare(deep), parents)).toBe(canonicalJson({ ...deep, parents }));
    expect(() => prepare({ ...parentless, payload: nested(64) })).toThrow("nested deeper than 64");
    const proof = { type: "zk_stark", stark_proof: "s", public_inputs: nested(63) } as const;
    expect(() => prepare({ ...parentless, proof })).toThrow("nested deeper than 64");
  });

  test("is refused when the names of the rules it was checked by make it too large", () => {
    const { privateKey } = generateKeyPairSync("ed25519");
    const rules_checked = ["r".repeat(1024 * 1024)];
    const order = { key_id: "0011223344556677", privateKey, rules_checked, predicate_results: [true] };
    expect(() => attested(prepare(parentless), order)).toThrow("at most 1048576 bytes");
  });
});
