import { Agent } from "node:http";
import { operations, Problem } from "@reins/api";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { type JsonSchema, nearMissesOf, type Resolve, valuesOf } from "./fixtures/arbitraries.ts";
import { begin } from "./fixtures/ask.ts";
import { harnessForAll, Served } from "./fixtures/home.ts";

const harness = harnessForAll();
const agent = new Agent({ keepAlive: true, maxSockets: 4 });
afterAll(() => agent.destroy());

/** How often each operation is asked in each way; a failure is repeated by its seed. */
const RUNS = 40;
const SEED = 20_261_115;

interface Question {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

const Described = z.looseObject({
  parameters: z
    .array(z.looseObject({ name: z.string(), in: z.string(), schema: z.looseObject({}) }))
    .default([]),
  requestBody: z
    .looseObject({ content: z.record(z.string(), z.looseObject({ schema: z.looseObject({}) })) })
    .optional(),
});
const Description = z.looseObject({
  paths: z.record(z.string(), z.record(z.string(), Described)),
  components: z.looseObject({ schemas: z.record(z.string(), z.looseObject({})) }),
});

/** Asks, and holds the answer to what holds for every answer. */
async function expectSane(served: Served, { method, path, headers, body }: Question): Promise<number> {
  const asked = { headers, agent, ...(body !== undefined && { body }) };
  const { sent, response } = await begin(served.address, method, path, asked);
  const { statusCode: status = 0, headers: answered } = response;
  if (answered["content-type"] === "text/event-stream") {
    sent.destroy();
    return status;
  }
  let text = "";
  response.setEncoding("utf8");
  for await (const part of response) text += part;
  expect(status, text).not.toBe(500);
  if (status < 400) return status;
  if (path.startsWith("/ahp") && answered["content-type"] === "application/json") {
    expect(JSON.parse(text)).toMatchObject({ jsonrpc: "2.0", error: { code: -32_700 } });
    return status;
  }
  expect(answered["content-type"]).toBe("application/problem+json");
  if (method !== "HEAD") expect(Problem.parse(JSON.parse(text)).status).toBe(status);
  return status;
}

/** Questions for an operation as its description has them, or almost. */
function questions(
  method: string,
  path: string,
  { parameters, requestBody }: z.output<typeof Described>,
  resolve: Resolve,
  near: boolean,
): fc.Arbitrary<Question> {
  const make = near ? nearMissesOf : valuesOf;
  const inPlace = (place: string) =>
    fc.record(
      Object.fromEntries(
        parameters
          .filter((each) => each.in === place)
          .map(({ name, schema }) => [name, make(schema, resolve)]),
      ),
      place === "path" ? {} : { requiredKeys: [] },
    );
  const schema: JsonSchema | undefined = requestBody?.content["application/json"]?.schema;
  const body = schema ? make(schema, resolve).map((value) => JSON.stringify(value)) : fc.constant(undefined);
  const types = near
    ? fc.constantFrom("application/json", "application/json; charset=latin1", "text/plain", "", "x/y+json")
    : fc.constant("application/json");
  return fc
    .tuple(inPlace("path"), inPlace("query"), inPlace("header"), body, types)
    .map(([names, query, head, text, type]) => {
      const filled = path.replace(/\{(\w+)\}/g, (_, name: string) =>
        encodeURIComponent(wellFormed(names[name])),
      );
      const search = new URLSearchParams();
      for (const [name, value] of Object.entries(query)) search.append(name, wellFormed(value));
      const headers = Object.fromEntries(
        Object.entries(head).map(([name, value]) => [name, wellFormed(value).replace(/[^\x21-\x7e]/g, "?")]),
      );
      return {
        method: method.toUpperCase(),
        path: `${filled}?${search}`,
        headers: text === undefined ? headers : { ...headers, "content-type": type },
        body: text,
      };
    });
}

function wellFormed(value: unknown): string {
  return (typeof value === "string" ? value : (JSON.stringify(value) ?? "")).toWellFormed();
}

describe("every operation", () => {
  test.each(operations.map(({ id, method, path }) => [id, method.toLowerCase(), path] as const))(
    "%s answers whatever it is asked",
    async (_, method, path) => {
      const served = await Served.open(harness(), { limits: { failures: 1_000_000 } });
      const { body } = await served.ask("GET", "/openapi.json");
      const { paths, components } = Description.parse(body);
      const resolve: Resolve = (reference) => components.schemas[reference.split("/").at(-1) ?? ""] ?? {};
      const described = paths[path]?.[method];
      if (!described) throw new Error(`${method} ${path} is not described`);
      const people = [
        served.access.token,
        (await served.person({ tenant: "acme", roles: ["admin"] })).secret,
        (await served.person({ kind: "agent" })).secret,
        "reins_nobody",
      ];
      const statuses = new Set<number>();
      for (const near of [false, true]) {
        const property = fc.asyncProperty(
          questions(method, path, described, resolve, near),
          fc.constantFrom(...people),
          async (question, who) => {
            const headers = { ...question.headers, authorization: `Bearer ${who}` };
            statuses.add(await expectSane(served, { ...question, headers }));
          },
        );
        await fc.assert(property, { numRuns: RUNS, seed: SEED });
      }
      expect(statuses.size).toBeGreaterThan(0);
    },
  );
});

describe("every path", () => {
  test("answers any method, header and body", async () => {
    const served = await Served.open(harness(), { limits: { maxBodyBytes: 10_000 } });
    const paths = [
      ...operations.map(({ path }) => path),
      ...[
        "/ahp",
        "/",
        "//",
        "/v1",
        "/v1/",
        "/opencode/x",
        "/v1/sessions/x",
        "/v1/approvals/../policy",
        "/%2e%2e/x",
        "*",
      ],
    ];
    const methods = [
      "GET",
      "HEAD",
      "POST",
      "PUT",
      "PATCH",
      "DELETE",
      "OPTIONS",
      "TRACE",
      "PROPFIND",
      "QUERY",
    ];
    const odd = fc.oneof(
      fc.constantFrom("", "{}", "[]", "null", '"x"', "{", "\u0000", "[".repeat(500), "x".repeat(20_000)),
      fc.string({ maxLength: 100, unit: "binary" }),
      fc.json(),
    );
    const header = fc.constantFrom(
      ["content-type", "application/json"],
      ["content-type", "multipart/form-data"],
      ["accept", "text/html"],
      ["accept-version", "9"],
      ["last-event-id", "nothing"],
      ["cookie", "; =; a=b=c"],
      ["origin", "https://evil.example"],
      ["host", "evil.example"],
      ["x-http-method-override", "DELETE"],
      ["content-encoding", "gzip"],
      ["range", "bytes=0-1"],
      ["if-none-match", "*"],
    );
    const property = fc.asyncProperty(
      fc.constantFrom(...paths),
      fc.constantFrom(...methods),
      fc.array(header, { maxLength: 4 }),
      odd,
      fc.boolean(),
      async (path, method, headers, body, known) => {
        const shown = known ? { authorization: `Bearer ${served.access.token}` } : {};
        const bodyless = method === "GET" || method === "HEAD" || method === "TRACE";
        const question = { method, path, headers: { ...Object.fromEntries(headers), ...shown } };
        await expectSane(served, { ...question, body: bodyless ? undefined : body });
      },
    );
    await fc.assert(property, { numRuns: 400, seed: SEED });
  });
});
