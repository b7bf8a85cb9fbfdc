import { generateKeyPairSync, verify } from "node:crypto";
import { describe, expect, test } from "vitest";
import { canonicalJson } from "../canonical.ts";
import { attested, bodyWith, type ParentlessContent, prepare } from "./prepared-entry.ts";

/** What a text has to say to be taken for a place that is left open. */
const TRAP = '"parents":[],"proof":null,';

const content: ParentlessContent = {
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
    expect(bodyWith(prepare(content), parents)).toBe(canonicalJson({ ...content, parents }));
    expect(bodyWith(prepare(content), [])).toBe(canonicalJson({ ...content, parents: [] }));
  });

  test("also where it is sealed, or brings a proof of its own", () => {
    const envelope = { audience_label: TRAP, encrypted_key: "k", ciphertext: "c" };
    const proof = { type: "zk_stark", stark_proof: TRAP, public_inputs: { proof: null } } as const;
    for (const odd of [
      { ...content, envelope },
      { ...content, proof },
    ])
      expect(bodyWith(prepare(odd), parents)).toBe(canonicalJson({ ...odd, parents }));
  });

  test("also with names that no object holds in the order of their letters", () => {
    const odd = { ...content, payload: { 9: 1, 10: 2, b: { 1: TRAP }, a: 1 } };
    expect(bodyWith(prepare(odd), parents)).toBe(canonicalJson({ ...odd, parents }));
  });

  test("is signed without its proof, and then has it", () => {
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    const order = { key_id: "0011223344556677", privateKey, rules_checked: ["r"], predicate_results: [true] };
    const body = bodyWith(attested(prepare(content), order), parents);
    const { proof, ...rest } = JSON.parse(body);
    const unsigned = Buffer.from(canonicalJson({ ...rest, proof: null }));
    expect(canonicalJson({ ...rest, proof })).toBe(body);
    expect(rest).toEqual({ ...content, parents, proof: undefined });
    expect(verify(null, unsigned, publicKey, Buffer.from(proof.signature, "base64"))).toBe(true);
  });

  test.each<[string, unknown, string]>([
    ["a Map", { m: new Map() }, "payload.m: a Map"],
    ["half of a surrogate pair", { a: [{ b: "\ud800" }] }, "payload.a[0].b: a string holds half"],
    ["nothing", { b: undefined }, "payload.b: a value of type undefined"],
    ["a symbol", { a: { [Symbol("s")]: 1 } }, "payload.a: symbols"],
  ])("is refused with %s in its payload, and where it is", (_, payload, why) => {
    expect(() => prepare({ ...content, payload })).toThrow(why);
  });

  test("holds 64 arrays and objects inside each other, itself included, and no more", () => {
    const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);
    const deep = { ...content, payload: nested(63) };
    expect(bodyWith(prepare(deep), parents)).toBe(canonicalJson({ ...deep, parents }));
    expect(() => prepare({ ...content, payload: nested(64) })).toThrow("nested deeper than 64");
    const proof = { type: "zk_stark", stark_proof: "s", public_inputs: nested(63) } as const;
    expect(() => prepare({ ...content, proof })).toThrow("nested deeper than 64");
  });

  test("is refused when the names of the rules it was checked by make it too large", () => {
    const { privateKey } = generateKeyPairSync("ed25519");
    const rules_checked = ["r".repeat(1024 * 1024)];
    const order = { key_id: "0011223344556677", privateKey, rules_checked, predicate_results: [true] };
    expect(() => attested(prepare(content), order)).toThrow("at most 1048576 bytes");
  });
});
