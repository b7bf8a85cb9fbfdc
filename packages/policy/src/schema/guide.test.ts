import { readFileSync } from "node:fs";
import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { checkConstitution } from "../backtest/check.ts";
import { Condition } from "../constitution/condition.ts";
import { constitutionSchema } from "./json-schema.ts";

/** The guide to the constitution says nothing that is not so. */
const guide = readFileSync(new URL("../../../../docs/constitution.md", import.meta.url), "utf8");
const snippets = [...guide.matchAll(/```yaml\n(.*?)```/gs)].map(([, text = ""]) => text);
const conditions = [...guide.matchAll(/^\| `(\w+)` \| [^|]* \| `(\{.*\})` \|$/gm)].map(
  ([, name = "", example = ""]) => ({ name, example }),
);
const validate = new Ajv({ allowUnionTypes: true }).compile(JSON.parse(constitutionSchema()));

async function check(rules: string) {
  const { faults, remarks, policy } = await checkConstitution({
    file: "guide",
    rules,
    prose: new Uint8Array(),
  });
  expect([...faults, ...remarks]).toEqual([]);
  expect(validate(parse(rules)), JSON.stringify(validate.errors)).toBe(true);
  return policy;
}

describe("docs/constitution.md", () => {
  it.each(snippets)("has a constitution that is fine, its tests too: %s", async (text) => {
    expect((await check(text))?.rules.length).toBeGreaterThan(0);
  });

  it.each(conditions)("has an example of $name that is fine", async ({ name, example }) => {
    const policy = await check(
      `tools: { deploy: { sensitivity: high } }\ntool_rules: [{ name: r, condition: ${example}, verdict: ask }]`,
    );
    expect(Object.keys(policy?.rules[0]?.rule.condition ?? {})).toEqual([name]);
  });

  it("has every condition there is", () => {
    expect(conditions.map(({ name }) => name).sort()).toEqual(Object.keys(Condition.shape).sort());
    expect(snippets.length).toBeGreaterThan(8);
  });
});
