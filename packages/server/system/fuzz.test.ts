import { Agent } from "node:http";
import { operations } from "@reins/api";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import type { Resolve } from "./fixtures/arbitraries.ts";
import { harnessForAll, Served } from "./fixtures/home.ts";
import { Description, expectSane, questions } from "./fixtures/questions.ts";

const harness = harnessForAll();
const agent = new Agent({ keepAlive: true, maxSockets: 4 });
afterAll(() => agent.destroy());

/** How often each operation is asked in each way; a failure is repeated by its seed. */
const RUNS = 40;
const SEED = 20_261_115;

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
            statuses.add(await expectSane(served, { ...question, headers }, agent));
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
        await expectSane(served, { ...question, body: bodyless ? undefined : body }, agent);
      },
    );
    await fc.assert(property, { numRuns: 400, seed: SEED });
  });
});
