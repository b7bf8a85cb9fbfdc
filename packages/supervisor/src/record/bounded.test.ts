import { blake3Hex, type Draft } from "@reins/ledger";
import { describe, expect, it } from "vitest";
import { bounded, withoutSecrets } from "./record.ts";

const MOST = 1024 * 1024 - 64 * 1024;
const draft = (payload: unknown, more: Partial<Draft> = {}): Draft => ({
  ...{ quality: "tool_call", actor: "reed", target: "Bash", entity_id: "reed:acp:1", tags: ["call:1"] },
  payload,
  ...more,
});
const nested = (depth: number): unknown => (depth === 0 ? "end" : { inner: nested(depth - 1) });
const depthOf = (value: unknown): number =>
  typeof value === "object" && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0;

describe("a draft that fits", () => {
  it.each([
    ["small", draft({ arguments: { command: "ls" } })],
    ["of many escapes, though not too many", draft({ text: "\u0001".repeat(140_000) })],
    ["just as large as may be", draft({ text: "x".repeat(900_000) })],
  ])("is the same: %s", (_, given) => expect(bounded(given)).toBe(given));
});

describe("a draft that is too large", () => {
  const many = Array.from({ length: 20_000 }, (_, index) => index.toString(16).padStart(64, "0"));
  it.each([
    ["a long text", draft({ arguments: { text: "x".repeat(2_000_000) } })],
    ["many escapes", draft({ text: "\u0001".repeat(300_000) })],
    ["a long list", draft({ entries: many })],
    [
      "long names in a list",
      draft({ list: Array.from({ length: 700 }, () => ({ tool: "y".repeat(2_000) })) }),
    ],
    ["many members", draft(Object.fromEntries(many.map((name) => [name, 1])))],
    ["a long name of a member", draft({ ["n".repeat(2_000_000)]: 1 })],
    [
      "lists in lists",
      draft(Array.from({ length: 60 }, () => Array.from({ length: 60 }, () => many.slice(0, 60)))),
    ],
    ["a long target and tag", draft({}, { target: "t".repeat(2_000_000), tags: ["g".repeat(2_000_000)] })],
    ["deep nesting", draft(nested(500))],
  ])("is cut: %s", (_, given) => {
    const smaller = bounded(given);
    expect(Buffer.byteLength(JSON.stringify(smaller))).toBeLessThan(MOST);
    expect(JSON.stringify(smaller)).toMatch(/truncated.*blake3:/);
    expect(depthOf(smaller.payload)).toBeLessThan(64);
    expect(smaller).toMatchObject({ quality: "tool_call", actor: "reed", entity_id: "reed:acp:1" });
  });

  it("keeps what is short, the begin of what is long, and the digest of the whole", () => {
    const text = "x".repeat(2_000_000);
    expect(bounded(draft({ command: "ls", text, entries: many })).payload).toEqual({
      command: "ls",
      text: `${text.slice(0, 65_536)}… (truncated: 2000000 characters, blake3:${blake3Hex(text)})`,
      entries: {
        truncated: {
          count: 20_000,
          bytes: 67 * 20_000 + 1,
          digest: `blake3:${blake3Hex(JSON.stringify(many))}`,
        },
        first: many.slice(0, 4_096),
      },
    });
  });

  it("is cut wherever it is recorded without its secrets, unless it is a verdict, which is decided again", () => {
    const payload = { text: "x".repeat(2_000_000) };
    expect(JSON.stringify(withoutSecrets(draft(payload)).payload).length).toBeLessThan(MOST);
    expect(withoutSecrets(draft(payload, { quality: "policy_verdict" })).payload).toEqual(payload);
  });
});
