import { expect, test } from "vitest";
import { readHostTools } from "./host-tools.ts";

const SCHEMA = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };
const READ = { name: "Read", description: "Read a file", schema: SCHEMA, deprecated: false };
const OPEN = { name: "open_file", description: "Reveal a file", schema: SCHEMA, deprecated: true };

test.each([
  ["an object", { tools: [READ, OPEN] }],
  ["a list alone", [READ, OPEN]],
  ["an envelope", { result: { tools: [READ, OPEN] } }],
  ["an envelope with a list alone", { result: [READ, OPEN] }],
  ["both, of which the envelope counts", { tools: [{ name: "other" }], result: { tools: [READ, OPEN] } }],
])("%s", (_, reply) => expect(readHostTools(reply)).toEqual({ tools: [READ, OPEN], warnings: [] }));

test("other names of members become description and schema, of which the first that is one counts", () => {
  const { tools } = readHostTools([
    { name: "a", short_description: "short", parameters: SCHEMA },
    { name: "b", input_schema: SCHEMA },
    { name: "c", description: "long", short_description: "short", schema: SCHEMA, parameters: {} },
    { name: "d", description: 7, schema: "text", deprecated: "yes", more: true },
  ]);
  expect(tools).toEqual([
    { name: "a", description: "short", schema: SCHEMA, deprecated: false },
    { name: "b", description: "", schema: SCHEMA, deprecated: false },
    { name: "c", description: "long", schema: SCHEMA, deprecated: false },
    { name: "d", description: "", schema: null, deprecated: false },
  ]);
});

test.each([null, undefined, 7, "tools", {}, { tools: {} }, { tools: null }, { result: 3 }])(
  "no list is an error: %j",
  (reply) => expect(() => readHostTools(reply)).toThrow("no list of tools"),
);

test("entries that are no tools are left out with a warning, and the others are kept", () => {
  const long = "x".repeat(200);
  const huge = { type: "object", description: "x".repeat(100_000) };
  const { tools, warnings } = readHostTools([
    READ,
    {},
    null,
    { name: "" },
    { name: 3 },
    { name: long },
    { name: "re\u202ead" },
    { name: " padded" },
    { name: "huge", schema: huge },
    { ...READ, description: "another" },
    OPEN,
  ]);
  expect(tools).toEqual([READ, OPEN]);
  expect(warnings).toHaveLength(9);
  expect(warnings[0]).toBe("entry 2 was left out: it has no name");
  expect(warnings[8]).toBe("entry 10 was left out: Read is there already");
});

test("a huge list is bounded, and so are its warnings", () => {
  const { tools, warnings } = readHostTools(
    Array.from({ length: 12_000 }, (_, index) => ({ name: `t${index}` })),
  );
  expect(tools).toHaveLength(10_000);
  expect(warnings).toEqual(["of 12000 tools the first 10000 are used"]);
  expect(readHostTools(Array(500).fill(null)).warnings).toHaveLength(21);
});
