import { describe, expect, test } from "vitest";
import { z } from "zod";
import { everyOperation as operations } from "../generate/api-reference.ts";
import { openApi } from "./openapi.ts";

const Parameter = z.looseObject({
  name: z.string(),
  in: z.enum(["path", "query", "header"]),
  required: z.boolean(),
});
const Described = z.looseObject({
  operationId: z.string(),
  summary: z.string().min(1),
  parameters: z.array(Parameter).default([]),
  responses: z.record(z.string(), z.looseObject({})),
});
const Document = z.looseObject({
  openapi: z.literal("3.1.0"),
  info: z.object({ title: z.string(), version: z.string() }),
  paths: z.record(z.string(), z.record(z.string(), Described)),
  components: z.object({
    schemas: z.record(z.string(), z.looseObject({})),
    responses: z.record(z.string(), z.looseObject({ description: z.string() })),
    securitySchemes: z.record(z.string(), z.looseObject({ type: z.string() })),
  }),
});

const document = Document.parse(
  JSON.parse(JSON.stringify(openApi(operations, { title: "Reins", version: "1" }))),
);

function referencesIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  const own = "$ref" in value && typeof value.$ref === "string" ? [value.$ref] : [];
  return [...own, ...Object.values(value).flatMap(referencesIn)];
}

describe("the description of the API", () => {
  test("has every operation once, under its own id", () => {
    const described = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) => `${method} ${path} ${operationId}`),
    );
    const expected = operations.map(({ method, path, id }) => `${method.toLowerCase()} ${path} ${id}`);
    expect(described.toSorted()).toEqual(expected.toSorted());
    expect(new Set(operations.map(({ id }) => id)).size).toBe(operations.length);
  });

  test("names every parameter of a path, and no other", () => {
    for (const [path, methods] of Object.entries(document.paths)) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      for (const { parameters } of Object.values(methods)) {
        const named = parameters.filter((parameter) => parameter.in === "path");
        expect(named.map(({ name }) => name)).toEqual(inPath);
        expect(named.every(({ required }) => required)).toBe(true);
      }
    }
  });

  test("refers to nothing that is not there", () => {
    const references = new Set(referencesIn(document));
    expect(references.size).toBeGreaterThan(20);
    for (const reference of references) {
      const target = reference
        .replace(/^#\//, "")
        .split("/")
        .reduce<unknown>((value, name) => Object(value)[name], document);
      expect(target, reference).toBeTypeOf("object");
    }
  });

  test("says for every operation what comes back, done or refused", () => {
    for (const methods of Object.values(document.paths))
      for (const { responses } of Object.values(methods)) {
        const statuses = Object.keys(responses);
        expect(statuses.filter((status) => status.startsWith("2"))).not.toEqual([]);
        expect(statuses).toContain("400");
      }
  });

  test("lists every status where an operation has more than one", () => {
    const answer = {
      content: { "application/json": { schema: { $ref: "#/components/schemas/RpcMessage" } } },
    };
    for (const path of ["/v1/rpc", "/acp"])
      expect(document.paths[path]?.post?.responses).toMatchObject({
        200: answer,
        202: { description: "Done" },
      });
  });

  test("holds schemas that a reader of JSON Schema can use", () => {
    const { GivenAnswer } = document.components.schemas;
    const schema = z.fromJSONSchema({ ...GivenAnswer });
    expect(schema.safeParse({ decision: "deny", note: "no" }).success).toBe(true);
    expect(schema.safeParse({ decision: "perhaps" }).success).toBe(false);
    expect(schema.safeParse({ decision: "deny", more: 1 }).success).toBe(false);
  });
});
