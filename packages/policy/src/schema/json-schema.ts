import { z } from "zod";
import { ConstitutionFile } from "../constitution/constitution.ts";
import { DESCRIPTIONS } from "./descriptions.ts";

type Schema = z.core.JSONSchema.BaseSchema;

/** The name of the file in which editors look for the schema, beside `constitution.yaml`. */
export const SCHEMA_FILE = "constitution.schema.json";

/** Where the schema lies as this package brings it along, the same text as {@link constitutionSchema}. */
export function schemaFile(): URL {
  return new URL(`../../schema/${SCHEMA_FILE}`, import.meta.url);
}

/** Members whose value is a condition, whatever is above them. */
const CONDITIONS = new Set(["condition", "of", "any_of", "not"]);
/** Members that are described as another one is. */
const ALIKE: Readonly<Record<string, string>> = { reads: "paths", writes: "paths" };
/**
 * The JSON Schema of `constitution.yaml` as text, of draft 7, which editors know best. It says what the file may hold,
 * with a description of every member.
 */
export function constitutionSchema(): string {
  const schema = z.toJSONSchema(ConstitutionFile, { io: "input", target: "draft-7" });
  const { $schema, definitions, ...rest } = schema;
  describe(rest, "");
  for (const definition of isSchema(definitions) ? Object.values(definitions) : [])
    if (isSchema(definition)) describe(definition, "condition");
  const rule = member(rest, "tool_rules")?.items;
  if (isSchema(rule)) Object.assign(rule, PATCH_GOES_WITH_MODIFY);
  const whole = {
    $schema,
    title: "Constitution",
    description: "What agents may do under Reins: constitution.yaml.",
    ...rest,
    definitions,
  };
  return `${JSON.stringify(whole, undefined, 2).replaceAll("__schema0", "plain_condition")}\n`;
}

const PATCH_GOES_WITH_MODIFY = {
  anyOf: [
    { properties: { verdict: { const: "modify" } }, required: ["patch"] },
    { properties: { verdict: { not: { const: "modify" } } }, not: { required: ["patch"] } },
  ],
};

/** Gives every member below a schema its description. */
function describe(schema: Schema, path: string): void {
  for (const [name, inner] of Object.entries(schema.properties ?? {})) {
    if (!isSchema(inner)) continue;
    const known = DESCRIPTIONS[pathTo(path, name)];
    if (known !== undefined) inner.description ??= known;
    describe(inner, CONDITIONS.has(name) ? "condition" : pathTo(path, ALIKE[name] ?? name));
  }
  const { items, additionalProperties, anyOf = [], oneOf = [] } = schema;
  for (const inner of [items, additionalProperties, ...anyOf, ...oneOf])
    if (isSchema(inner)) describe(inner, path);
}

function pathTo(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

function member(schema: Schema, name: string): Schema | undefined {
  const found = schema.properties?.[name];
  return isSchema(found) ? found : undefined;
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
