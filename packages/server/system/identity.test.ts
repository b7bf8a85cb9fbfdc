import { identityOperations } from "@reins/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Answer } from "./fixtures/ask.ts";
import { harnessForAll, newHome, openHarness, Served } from "./fixtures/home.ts";

const harness = harnessForAll();
const ends: (() => Promise<void>)[] = [];
let served: Served;
const secrets = new Map<string, string>();

beforeAll(async () => {
  served = await Served.open(harness(), {
    onEnd: (end) => void ends.push(end),
    limits: { failures: 100 },
  });
  const { identity } = harness();
  secrets.set("operator", served.access.token);
  const add = async (name: string, tenant: string, roles: string[], kind: "user" | "service" | "agent") => {
    await identity.addUser({ id: name, tenant, name, email: "some@example.com", roles, scopes: ["*"] });
    const { id, secret } = await identity.createToken({ user: name, tenant, kind, agents: ["*"] });
    secrets.set(name, secret);
    return id;
  };
  await add("admin", "acme", ["admin"], "user");
  await add("service-admin", "acme", ["admin"], "service");
  await add("agent-admin", "acme", ["admin"], "agent");
  await add("developer", "acme", ["dev"], "user");
  await add("other-admin", "other", ["admin"], "user");
  await identity.revokeToken(await add("revoked-admin", "acme", ["admin"], "user"));
});
afterAll(async () => {
  for (const end of ends) await end();
});

function ask(caller: string, method: string, path: string, body?: unknown): Promise<Answer> {
  return served.ask(method, `/v1/identity/${path}`, { as: secrets.get(caller), body });
}

const carl = { name: "Carl", email: "carl@example.com", roles: ["dev"], scopes: ["a"] };

describe("the identity API", () => {
  /** The status of each caller's rejections in the tenants acme and other; 0 where it may do everything. */
  const MATRIX: readonly [caller: string, own: number, foreign: number][] = [
    ["operator", 0, 0],
    ["admin", 0, 404],
    ["service-admin", 0, 404],
    ["other-admin", 404, 0],
    ["agent-admin", 403, 403],
    ["developer", 403, 403],
    ["revoked-admin", 401, 401],
  ];
  const cases = MATRIX.flatMap(([caller, own, foreign]) =>
    [
      ["acme", own],
      ["other", foreign],
    ].map(([tenant, rejected]) => ({ caller, tenant, rejected })),
  );

  test.each(cases)(
    "rejects $caller in the tenant $tenant with $rejected",
    async ({ caller, tenant, rejected }) => {
      const { identity } = harness();
      const id = `${caller}-${tenant}-target`;
      const target = `${id}-2`;
      await identity.addUser({ ...carl, id: target, tenant: String(tenant) });
      const token = await identity.createToken({ user: target, tenant: String(tenant) });
      const owner = await identity.authenticate(
        (await identity.createToken({ user: target, tenant: String(tenant) })).secret,
      );
      await identity.delegate({
        principal: owner!,
        parentSession: id,
        parentAgent: "reed",
        childAgent: "reed",
        task: "",
        scopes: [],
      });
      const requests: readonly [status: number, method: string, path: string, body?: unknown][] = [
        [200, "GET", `users?tenant=${tenant}`],
        [201, "POST", "users", { ...carl, id, tenant }],
        [200, "PATCH", `users/${target}?tenant=${tenant}`, { name: "Other" }],
        [200, "GET", `tokens?tenant=${tenant}`],
        [201, "POST", "tokens", { user: target, tenant }],
        [204, "DELETE", `tokens/${token.id}`],
        [200, "GET", `sessions?tenant=${tenant}`],
        [200, "DELETE", `sessions/${id}?tenant=${tenant}`],
        [204, "DELETE", `users/${target}?tenant=${tenant}`],
      ];
      const answers = [];
      for (const [, method, path, body] of requests) answers.push(await ask(caller, method, path, body));
      const expected = requests.map(([status]) => rejected || status);
      expect(answers.map(({ status }) => status)).toEqual(expected);
      for (const { status, body } of answers) if (status >= 400) expect(body).toMatchObject({ status });
    },
  );

  test("allows only the operator to remove a tenant", async () => {
    await harness().identity.addUser({ ...carl, id: "carl", tenant: "doomed" });
    for (const caller of ["admin", "other-admin"]) {
      expect((await ask(caller, "DELETE", "tenants/doomed")).status).toBe(404);
      expect((await ask(caller, "GET", "tenants")).body).toMatchObject({ tenants: [expect.anything()] });
    }
    expect((await ask("admin", "DELETE", "tenants/acme")).status).toBe(403);
    expect((await ask("operator", "DELETE", "tenants/doomed")).status).toBe(204);
  });

  test("is under one path and only for admins", () => {
    for (const { audience, path } of Object.values(identityOperations)) {
      expect(audience).toBe("admin");
      expect(path).toMatch(/^\/v1\/identity\//);
    }
  });

  test.each([
    ["no body", undefined],
    ["a string as body", "carl"],
    ["an unknown member", { ...carl, id: "carl", admin: true }],
    ["missing members", { id: "carl" }],
    ["a member of another type", { ...carl, id: 7 }],
    ["a name that only the identity rejects", { ...carl, id: "__proto__" }],
  ])("rejects a new user with %s, member by member", async (_, body) => {
    const encoded = typeof body === "string" ? JSON.stringify(body) : body;
    expect(await ask("admin", "POST", "users", encoded)).toMatchObject({
      status: 400,
      body: { type: "urn:reins:problem:invalid", code: "invalid", status: 400, errors: expect.any(Array) },
    });
  });

  test("rejects a patch that names another id or another tenant", async () => {
    for (const body of [{ id: "admin" }, { tenant: "other" }])
      expect((await ask("admin", "PATCH", "users/developer", body)).status).toBe(400);
  });

  test("rejects a user that exists, and a user, token or session that does not", async () => {
    const again = await ask("admin", "POST", "users", { ...carl, id: "developer" });
    expect(again).toMatchObject({ status: 409, body: { code: "conflict" } });
    expect((await ask("admin", "DELETE", "users/missing")).status).toBe(404);
    expect((await ask("admin", "DELETE", "tokens/missing")).status).toBe(404);
    expect(await ask("admin", "DELETE", "sessions/missing")).toMatchObject({
      status: 404,
      body: { code: "not_found", detail: 'no sub-agent runs in the session "missing"' },
    });
  });

  test("shows the secret of a token once, and the token works", async () => {
    const answer = await ask("admin", "POST", "tokens", {
      user: "developer",
      expires: "2027-01-01T00:00:00+01:00",
    });
    const { id, secret } = { id: "", secret: "", ...Object(answer.body) };
    expect(await harness().identity.authenticate(secret)).toMatchObject({
      ...{ id, user: "developer", tenant: "acme" },
    });
    const listed = await ask("admin", "GET", "tokens");
    expect(listed.body).toMatchObject({
      tokens: expect.arrayContaining([expect.objectContaining({ id, expires: "2026-12-31T23:00:00.000Z" })]),
    });
    expect(listed.text).not.toContain(secret);
  });

  test("responds with 503 when the store is closed", async () => {
    const { harness: other, close } = await openHarness(await newHome());
    const alone = await Served.open(other);
    await close();
    expect(await alone.ask("GET", "/v1/identity/users")).toMatchObject({
      status: 503,
      body: { code: "unavailable" },
    });
  });
});
