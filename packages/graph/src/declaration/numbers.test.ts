import { describe, expect, it, test } from "vitest";
import { graphSchemaFiles } from "../../generate/json-schema.ts";
import { readCarried } from "./carrier.ts";

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly minItems?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
}

interface NumberField {
  readonly path: string;
  readonly schema: Schema;
  /** A declaration in which the field has a value, as JSON. */
  readonly declare: (value: string) => string;
}

const HOLE = "\u0000";
const root = JSON.parse(graphSchemaFiles().get("agent-protocol.json") ?? "{}");

function followed(schema: Schema): Schema {
  const { $ref } = schema;
  if ($ref === undefined) return schema;
  return followed(
    $ref
      .replace("#/", "")
      .split("/")
      .reduce((at, name) => at[name], root),
  );
}

/** The least value that a schema takes. */
function least(given: Schema): unknown {
  const schema = followed(given);
  const [first] = schema.anyOf ?? schema.oneOf ?? [];
  if (first) return least(first);
  if ("const" in schema) return schema.const;
  if (schema.enum) return schema.enum[0];
  if (schema.type === "string") return "a";
  if (schema.type === "number" || schema.type === "integer") return schema.minimum ?? 1;
  if (schema.type === "array") return schema.minItems ? [least(schema.items ?? {})] : [];
  const required = (schema.required ?? []).map((name) => [name, least(schema.properties?.[name] ?? {})]);
  return Object.fromEntries(required);
}

/** Every number below a schema, and a value of that schema with a hole in its place. */
function* numbersIn(
  given: Schema,
  path: string,
): Generator<{ path: string; schema: Schema; value: unknown }> {
  const schema = followed(given);
  if (schema.type === "number" || schema.type === "integer") yield { path, schema, value: HOLE };
  for (const branch of [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]) yield* numbersIn(branch, path);
  if (schema.items)
    for (const found of numbersIn(schema.items, `${path}[]`)) yield { ...found, value: [found.value] };
  for (const [name, member] of Object.entries(schema.properties ?? {}))
    for (const found of numbersIn(member, `${path}.${name}`))
      yield { ...found, value: { ...Object(least(schema)), [name]: found.value } };
}

const fields: readonly NumberField[] = [...numbersIn(root, "")].map(({ path, schema, value }) => ({
  path: `${Object(value).intent}: ${path.slice(1)}`,
  schema,
  declare: (number) =>
    JSON.stringify({ ...Object(value), version: "1" }).replace(JSON.stringify(HOLE), number),
}));

function read(json: string): unknown {
  const text = `\`\`\`json agent-protocol\n${json}\n\`\`\``;
  return readCarried({ text, calls: [], isComplete: true }, { isEnabled: true, knowsTool: () => false });
}

// What a loop compares a result with is a value of any kind.
test("all numbers of a declaration are found", () => {
  const names = new Set(fields.map(({ path }) => path.split(".").at(-1)));
  expect([...names].toSorted()).toEqual(
    [
      ...["backoff_ms", "calls", "context_lines", "cost", "from_line", "max_attempts"],
      ...["max_iterations", "max_tokens", "parallel", "retries", "seconds", "to_line", "tokens"],
    ].toSorted(),
  );
});

describe("The number", () => {
  it.each(fields.map((field) => [field.path, field] as const))(
    "%s has bounds, and takes nothing beside them",
    (path, field) => {
      const { minimum = Number.NaN, maximum = Number.NaN, type } = field.schema;
      expect(minimum).toBeGreaterThanOrEqual(0);
      // Sums of it, and milliseconds, are exact.
      expect(maximum * 1_000).toBeLessThanOrEqual(Number.MAX_SAFE_INTEGER);
      for (const value of [minimum, maximum]) expect(() => read(field.declare(String(value)))).not.toThrow();
      const name = path.split(".").at(-1) ?? "";
      for (const value of [
        ...["1e306", "1e999", "-1e306", "-1", "9007199254740993", '"1"', "null", "true", "[1]"],
        ...(type === "integer" ? ["1.5"] : []),
        ...[String(maximum + 1), String(minimum - 1)],
      ])
        expect(() => read(field.declare(value)), value).toThrow(name);
    },
  );
});
