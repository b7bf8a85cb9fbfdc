import { stringifySorted } from "../json/stringify.ts";
import { TYPES } from "../protocol/types.ts";
import { readDescriptions } from "./descriptions.ts";
import { type JsonSchema, jsonSchemas } from "./json-schema.ts";

/** Where the published schemas lie. */
export const SCHEMA_FOLDER = new URL("../../schema/", import.meta.url);

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
