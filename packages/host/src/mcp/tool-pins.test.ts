import type { Harness, Principal } from "@reins/supervisor";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { PinRow } from "./tables.ts";
import { definitionChanges, listPins, resetPins } from "./tool-pins.ts";

const definition = (value: unknown) => JSON.stringify(value);
const changesOf = (before: unknown, after: unknown) =>
  definitionChanges(
    { hash: "h1", definition: definition(before) },
    { hash: "h2", definition: definition(after) },
  ).changes;

describe("what changed in the definition of a tool", () => {
  test("is shown member by member, with the hashes that are accepted", () => {
    const before = { description: "Reads a file", inputSchema: { type: "object" }, title: "Read" };
    const after = { description: "Reads a file", inputSchema: { type: "object", extra: 1 }, name: "read" };
    expect(
      definitionChanges(
        { hash: "h1", definition: definition(before) },
        { hash: "h2", definition: definition(after) },
      ),
    ).toEqual({
      changes: [
        { member: "inputSchema", before: '{"type":"object"}', after: '{"type":"object","extra":1}' },
        { member: "name", before: null, after: "read" },
        { member: "title", before: "Read", after: null },
      ],
      hashes: { before: "h1", after: "h2" },
    });
  });

  test("is shown with a little of what is the same around it", () => {
    const [start, end] = ["s".repeat(500), "e".repeat(500)];
    const around = (text: string) => `… ${"s".repeat(60)}${text}${"e".repeat(60)} …`;
    expect(changesOf({ description: `${start}read${end}` }, { description: `${start}delete${end}` })).toEqual(
      [{ member: "description", before: around("read"), after: around("delete") }],
    );
  });

  test("shows whatever was put in the place of something else, whole", () => {
    // Characters of two alphabets, so that nothing of what was put there is the same as what was.
    const text = fc.string({ unit: fc.constantFrom("a", "b", "\n"), maxLength: 150 });
    const other = fc.string({ unit: fc.constantFrom("X", "Y", '"'), minLength: 1, maxLength: 150 });
    fc.assert(
      fc.property(text, text, other, other, (start, end, was, is) => {
        fc.pre(was[0] !== is[0] && was.at(-1) !== is.at(-1));
        const changes = changesOf({ description: start + was + end }, { description: start + is + end });
        const [change] = Object(changes);
        expect(change.before).toContain(was);
        expect(change.after).toContain(is);
        expect(change.before.length).toBeLessThanOrEqual(was.length + 124);
      }),
    );
  });

  test("is cut where it is too long to be read, and says so", () => {
    const [long] = Object(changesOf({ description: "a" }, { description: "b".repeat(10_000) }));
    expect(long.after).toMatch(/^b{4000} … and 6000 more characters$/);
  });

  test("is nothing where the members are the same in another order", () => {
    expect(changesOf({ a: 1, b: [{ c: 2 }] }, { b: [{ c: 2 }], a: 1 })).toEqual([]);
  });

  test("is shown also where one of them is no object", () => {
    expect(changesOf([1], { a: 1 })).toEqual([{ member: "a", before: null, after: "1" }]);
  });

  test("is seen in names that are written with escapes", () => {
    // JSON.parse takes a name for another that it has seen at the same place.
    expect(changesOf({ a: 1, "\\": 2 }, { a: 1, "\n": 2 })).toEqual([
      { member: "\n", before: null, after: "2" },
      { member: "\\", before: "2", after: null },
    ]);
  });
});

describe("the pins of a tenant", () => {
  /** A store that shows what it was asked for. */
  function openStore() {
    const asked: unknown[] = [];
    const store = {
      query: async (_: unknown, name: string, range: unknown) => {
        asked.push([name, range]);
        return [] as PinRow[];
      },
    };
    return { asked, harness: { store } as unknown as Pick<Harness, "store"> };
  }

  test.each([
    ["from the beginning", undefined, undefined],
    ["behind a tool", "ab12/read", { server: "ab12", tool: "read" }],
    ["behind a tool with a slash in its name", "ab12/a/b", { server: "ab12", tool: "a/b" }],
    ["behind a tool without a name", "ab12/", { server: "ab12", tool: "" }],
    ["from the beginning, where no slash tells them apart", "ab12", undefined],
  ])("are listed %s", async (_, after, expected) => {
    const { asked, harness } = openStore();
    await listPins(harness, { tenant: "acme" }, { after, limit: 10 });
    expect(asked).toEqual([["list", { tenant: "acme", limit: 10, after: expected }]]);
  });

  test("are removed on the record, in the caller's tenant alone", async () => {
    const recorded: unknown[] = [];
    const harness = {
      record: async (drafts: unknown, more: unknown) => {
        recorded.push([drafts, more]);
        return { results: [3], entries: [] };
      },
    } as unknown as Pick<Harness, "record">;
    const principal = { id: "tok_1", kind: "user", user: "ann", tenant: "acme" } as Principal;
    expect(await resetPins(harness, principal, { server: "ab12", tool: "read" })).toBe(3);
    expect(recorded).toMatchObject([
      [
        [{ quality: "policy_change", target: "ab12", tags: ["mcp_pins", "tenant:acme"] }],
        { with: [{ args: { server: "ab12", tool: "read", tenant: "acme" } }] },
      ],
    ]);
  });
});
