import { z } from "zod";
import { ConstitutionFile } from "../constitution/constitution.ts";
import { tableFile } from "../facts/files.ts";

type Schema = z.core.JSONSchema.BaseSchema;

/** The name of the file in which editors look for the schema, beside `constitution.yaml`. */
export const SCHEMA_FILE = "constitution.schema.json";

/** Where the schema lies as this package brings it along, the same text as {@link constitutionSchema}. */
export function schemaFile(): URL {
  return new URL(`../../schema/${SCHEMA_FILE}`, import.meta.url);
}

/**
 * What the members of a constitution mean, for editors to show: by dotted path, `condition` standing for every
 * condition, and `paths` also for `reads` and `writes`. What the schema itself says of a member is not there.
 */
function descriptions(): Readonly<Record<string, string>> {
  return tableFile("descriptions.json", z.record(z.string(), z.string()));
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
  const known = descriptions();
  describe(rest, "", known);
  for (const definition of isSchema(definitions) ? Object.values(definitions) : [])
    if (isSchema(definition)) describe(definition, "condition", known);
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
function describe(schema: Schema, path: string, known: ReturnType<typeof descriptions>): void {
  for (const [name, inner] of Object.entries(schema.properties ?? {})) {
    if (!isSchema(inner)) continue;
    const description = known[pathTo(path, name)];
    if (description !== undefined) inner.description ??= description;
    describe(inner, CONDITIONS.has(name) ? "condition" : pathTo(path, ALIKE[name] ?? name), known);
  }
  const { items, additionalProperties, anyOf = [], oneOf = [] } = schema;
  for (const inner of [items, additionalProperties, ...anyOf, ...oneOf])
    if (isSchema(inner)) describe(inner, path, known);
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
