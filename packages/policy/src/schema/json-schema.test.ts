import { readFileSync } from "node:fs";
import { Ajv } from "ajv";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { parse } from "yaml";
import { ConstitutionFile } from "../constitution/constitution.ts";
import { constitutionSchema, SCHEMA_FILE } from "./json-schema.ts";

const text = constitutionSchema();
const validate = new Ajv({ strict: true, strictRequired: false, allowUnionTypes: true }).compile(
  JSON.parse(text),
);
const shipped = (name: string): unknown =>
  parse(readFileSync(new URL(`../../constitutions/${name}.yaml`, import.meta.url), "utf8"));

test("the published schema is current", () => {
  const published = readFileSync(new URL(`../../schema/${SCHEMA_FILE}`, import.meta.url), "utf8");
  expect(published, "run `npm run schemas`").toBe(text);
});

test.each(["default", "haak"])("the %s constitution is valid by it", (name) => {
  expect(validate(shipped(name)), JSON.stringify(validate.errors)).toBe(true);
});

test("every member is described", () => {
  const undescribed: string[] = [];
  const look = (value: unknown, path: string): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [name, inner] of Object.entries(value)) {
      if (path.endsWith(".properties") && !("description" in Object(inner)))
        undescribed.push(`${path}.${name}`);
      look(inner, `${path}.${name}`);
    }
  };
  const schema = JSON.parse(text);
  // Says how members go together, and describes none.
  delete schema.properties.tool_rules.items.anyOf;
  look(schema, "");
  expect(undescribed).toEqual([]);
});

describe("schema and reader agree", () => {
  const agree = (value: unknown) =>
    expect(validate(value), JSON.stringify(value)).toBe(ConstitutionFile.safeParse(value).success);

  it.each<[string, unknown]>([
    ["nothing", {}],
    ["no object", []],
    ["a patch without modify", { tool_rules: [{ name: "a", verdict: "ask", patch: {} }] }],
    ["modify without a patch", { tool_rules: [{ name: "a", verdict: "modify" }] }],
    ["modify with a patch", { tool_rules: [{ name: "a", verdict: "modify", patch: { a: 1 } }] }],
    ["a bad length of time", { tool_rules: [], limits: [{ name: "a", per: "user", within: "1 hour" }] }],
    [
      "conditions in conditions",
      {
        tool_rules: [{ name: "a", verdict: "ask", condition: { not: { any_of: [{ not: { user: "x" } }] } } }],
      },
    ],
    [
      "a mistake deep in them",
      {
        tool_rules: [{ name: "a", verdict: "ask", condition: { not: { any_of: [{ not: { usr: "x" } }] } } }],
      },
    ],
    [
      "counting within a part of a condition",
      {
        tool_rules: [
          { name: "a", verdict: "ask", condition: { not: { count: { of: {}, within: "1h", at_least: 1 } } } },
        ],
      },
    ],
  ])("on %s", (_, value) => agree(value));

  it("on the shipped ones, however they are damaged", () => {
    const sources = ["default", "haak"].map(shipped);
    const junk = fc.constantFrom<unknown>(null, 0, -1, "", "x", "ask", "1h", true, [], ["x"], {}, { x: 1 }, [
      {},
    ]);
    const damage = fc.record({ seed: fc.nat(), junk, kind: fc.constantFrom("replace", "remove", "add") });
    fc.assert(
      fc.property(fc.constantFrom(...sources), damage, (source, { seed, junk: value, kind }) => {
        const copy = structuredClone(source);
        const holders = holdersIn(copy);
        const holder = holders[seed % holders.length] ?? {};
        const names = Object.keys(holder);
        const name = names[seed % names.length] ?? "x";
        if (kind === "remove") Reflect.deleteProperty(holder, name);
        else Reflect.set(holder, kind === "add" && !Array.isArray(holder) ? "unheard_of" : name, value);
        agree(JSON.parse(JSON.stringify(copy)));
      }),
      { numRuns: 500 },
    );
  });
});

/** Every object and array in a value. */
function holdersIn(value: unknown): object[] {
  if (typeof value !== "object" || value === null) return [];
  return [value, ...Object.values(value).flatMap(holdersIn)];
}
