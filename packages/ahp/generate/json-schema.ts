import { readdirSync, readFileSync } from "node:fs";
import { z } from "zod";
import { stringifySorted } from "../src/json/stringify.ts";
import * as decisions from "../src/protocol/decisions.ts";
import * as event from "../src/protocol/event.ts";
import * as contracts from "../src/protocol/families.ts";
import * as messages from "../src/protocol/messages.ts";
import * as payloads from "../src/protocol/payloads.ts";
import * as perception from "../src/protocol/perception.ts";
import { INTEGERS, isShaped, shapeOf } from "../src/wire/schema.ts";

/** A JSON Schema of draft 2020-12. */
export type JsonSchema = z.core.JSONSchema.BaseSchema;

/**
 * JSON Schemas of what peers may send, by type name. They refer to each other as files of one folder
 * (`{"$ref": "Fact.json"}`).
 */
export function jsonSchemas(
  types: Readonly<Record<string, z.ZodType>>,
  descriptions: ReadonlyMap<string, string>,
): Record<string, JsonSchema> {
  const registry = z.registry<{ id: string; description?: string | undefined }>();
  for (const [id, schema] of Object.entries(types)) {
    registry.add(schema, { id, description: descriptions.get(id) });
  }
  const { schemas } = z.toJSONSchema(registry, {
    io: "input",
    metadata: registry,
    uri: (id) => `${id}.json`,
    override: ({ zodSchema, jsonSchema }) => asOnTheWire(zodSchema, jsonSchema),
  });
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, titled(name, schema)]));
}

/** What a reader looks for first comes first. */
function titled(name: string, schema: JsonSchema): JsonSchema {
  const first = { $schema: schema.$schema, $id: schema.$id, title: name, description: schema.description };
  return Object.fromEntries(Object.entries({ ...first, ...schema }));
}

/** Adds what zod does not know: integers, `null` for absent members, maps of any values. */
function asOnTheWire(zodSchema: z.core.$ZodType, json: JsonSchema): void {
  if (!(zodSchema instanceof z.ZodType) || !isShaped(zodSchema)) return;
  const shape = shapeOf(zodSchema);
  if (shape.kind === "integer") {
    const { least, greatest } = INTEGERS[shape.integer];
    Object.assign(json, { type: "integer", minimum: least, maximum: greatest });
  }
  if (shape.kind === "map") {
    delete json.propertyNames;
    delete json.additionalProperties;
  }
  if (shape.kind === "optional") allowNull(json);
  if (shape.kind === "nullable") {
    json.default = null;
    if (shapeOf(shape.inner).kind === "any") delete json.anyOf;
  }
}

function allowNull(json: JsonSchema): void {
  if (Object.keys(json).length === 0) return;
  if (typeof json.type === "string" && !json.enum) {
    Object.assign(json, { type: [json.type, "null"] });
    return;
  }
  const inner = { ...json };
  for (const key of Object.keys(json)) delete json[key];
  json.anyOf = [inner, { type: "null" }];
}

const folder = new URL("../src/protocol/", import.meta.url);

/** What the sources say above each exported schema; the published schemas say the same. */
function readDescriptions(): Map<string, string> {
  const descriptions = new Map<string, string>();
  for (const file of readdirSync(folder)) {
    const source = readFileSync(new URL(file, folder), "utf8");
    for (const [, comment, name] of source.matchAll(/\/\*\*((?:(?!\*\/).)*)\*\/\nexport const (\w+) =/gs)) {
      if (comment !== undefined && name !== undefined) descriptions.set(name, plain(comment));
    }
  }
  return descriptions;
}

function plain(comment: string): string {
  return comment.replaceAll(/\s*\n\s*\*\s*/g, " ").trim();
}

/** Where the published schemas lie. */
export const SCHEMA_FOLDER = new URL("../schema/", import.meta.url);

/** The published schemas: the text of each file by its name. */
export function schemaFiles(): Map<string, string> {
  const schemas = Object.entries(jsonSchemas(TYPES, readDescriptions()));
  return new Map(schemas.map(([name, schema]) => [`${name}.json`, format(schema)]));
}

/** Indented JSON; the ends of 64-bit integers are spelled as those integers and not as JavaScript rounds them. */
function format(schema: JsonSchema): string {
  const text = JSON.stringify(schema, null, 2).replaceAll(/-?\d{19,20}/g, (digits) =>
    stringifySorted(Number(digits)),
  );
  return `${text}\n`;
}

const MODULES: readonly object[] = [messages, event, payloads, perception, contracts, decisions];

/** Every type of the protocol by its name: the published JSON Schemas and the vectors refer to these. */
export const TYPES: Readonly<Record<string, z.ZodType>> = Object.fromEntries(
  MODULES.flatMap((module) => Object.entries(module)).filter(([, value]) => value instanceof z.ZodType),
);
