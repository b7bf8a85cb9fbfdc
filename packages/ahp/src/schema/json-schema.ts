import { z } from "zod";
import { INTEGERS, isShaped, shapeOf } from "../wire/shape.ts";

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

/** Says what zod does not know: integers, `null` for absent members, maps that hold anything. */
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
