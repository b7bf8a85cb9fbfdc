import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Principal } from "../src/identity/principal.ts";
import { identityRoutes } from "../src/identity/routes/identity-routes.ts";
import type { IdentityAnswer, IdentityRoute } from "../src/identity/routes/route.ts";
import { Home, temporaryFolder } from "../test/identity-home.ts";

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let home: Home;
let routes: readonly IdentityRoute[];
const principals = new Map<string, Principal>();

beforeAll(async () => {
  folder = await temporaryFolder();
  home = await Home.open(folder.path);
  const { identity } = home;
  routes = identityRoutes(identity);
  principals.set("operator", identity.local());
  const add = async (name: string, tenant: string, roles: string[], kind: "user" | "service" | "agent") => {
    await identity.addUser({ id: name, tenant, name, email: "some@example.com", roles, scopes: ["*"] });
    const { id, secret } = await identity.createToken({ user: name, tenant, kind, agents: ["*"] });
    const principal = await identity.authenticate(secret);
    if (principal) principals.set(name, principal);
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
  await home[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

/** Asks as somebody. A path is matched as a router would, its query included. */
async function ask(who: string, method: string, path: string, body?: unknown): Promise<IdentityAnswer> {
  const url = new URL(path, "http://localhost/v1/identity/");
  const segments = url.pathname.split("/");
  const principal = principals.get(who);
  if (!principal) throw new Error(`nobody is ${who}`);
  for (const route of routes) {
    const names = route.path.split("/");
    if (route.method !== method || names.length !== segments.length) continue;
    if (!names.every((name, index) => name.startsWith(":") || name === segments[index])) continue;
    const params = Object.fromEntries(url.searchParams);
    names.forEach((name, index) => {
      if (name.startsWith(":")) params[name.slice(1)] = decodeURIComponent(segments[index] ?? "");
    });
    return route.handle({ principal, params, body });
  }
  throw new Error(`no route for ${method} ${path}`);
}

const carl = { name: "Carl", email: "carl@example.com", roles: ["dev"], scopes: ["a"] };

describe("who may what", () => {
  // What each may do, and what it is told otherwise: itself an admin, an agent, nobody special, of another tenant, gone.
  const MATRIX: readonly [who: string, own: number, foreign: number][] = [
    ["operator", 0, 0],
    ["admin", 0, 404],
    ["service-admin", 0, 404],
    ["other-admin", 404, 0],
    ["agent-admin", 403, 403],
    ["developer", 403, 403],
    ["revoked-admin", 403, 403],
  ];
  const cases = MATRIX.flatMap(([who, own, foreign]) =>
    [
      ["acme", own],
      ["other", foreign],
    ].map(([tenant, refused]) => ({ who, tenant, refused })),
  );

  test.each(cases)("$who in tenant $tenant: $refused", async ({ who, tenant, refused }) => {
    const { identity } = home;
    const id = `${who}-${tenant}-target`;
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
    for (const [, method, path, body] of requests) answers.push(await ask(who, method, path, body));
    const expected = requests.map(([status]) => refused || status);
    expect(answers.map(({ status }) => status)).toEqual(expected);
    for (const { status, body } of answers) if (status >= 400) expect(body).toMatchObject({ status });
  });

  test("removing a tenant is the operator's alone", async () => {
    const { identity } = home;
    await identity.addUser({ ...carl, id: "carl", tenant: "doomed" });
    for (const who of ["admin", "other-admin"]) {
      expect((await ask(who, "DELETE", "tenants/doomed")).status).toBe(404);
      expect((await ask(who, "GET", "tenants")).body).toMatchObject({ tenants: [expect.anything()] });
    }
    expect((await ask("admin", "DELETE", "tenants/acme")).status).toBe(403);
    expect((await ask("operator", "DELETE", "tenants/doomed")).status).toBe(204);
  });

  test("every route is for admins and under one root", () => {
    for (const { role, path } of routes) {
      expect(role).toBe("admin");
      expect(path).toMatch(/^\/v1\/identity\//);
    }
  });
});

describe("what is asked", () => {
  test.each([
    ["nothing", undefined],
    ["no object", "carl"],
    ["a member too many", { ...carl, id: "carl", admin: true }],
    ["a member too few", { id: "carl" }],
    ["another type", { ...carl, id: 7 }],
  ])("with %s is told what is wrong", async (_, body) => {
    const answer = await ask("admin", "POST", "users", body);
    expect(answer).toMatchObject({
      status: 400,
      body: { type: "urn:reins:problem:invalid", code: "invalid", status: 400, errors: expect.any(Array) },
    });
  });

  test("a patch names neither another id nor another tenant", async () => {
    for (const body of [{ id: "admin" }, { tenant: "other" }])
      expect((await ask("admin", "PATCH", "users/developer", body)).status).toBe(400);
  });

  test("a user that is there already, or not", async () => {
    const again = await ask("admin", "POST", "users", { ...carl, id: "developer" });
    expect(again).toMatchObject({ status: 409, body: { code: "conflict" } });
    expect((await ask("admin", "DELETE", "users/nobody")).status).toBe(404);
    expect((await ask("admin", "DELETE", "tokens/nobody")).status).toBe(404);
    expect((await ask("admin", "DELETE", "sessions/nothing")).status).toBe(404);
  });

  test("a secret is told once, when it is made, and works", async () => {
    const answer = await ask("admin", "POST", "tokens", {
      user: "developer",
      expires: "2027-01-01T00:00:00+01:00",
    });
    const { id, secret } = { id: "", secret: "", ...Object(answer.body) };
    expect(await home.identity.authenticate(secret)).toMatchObject({ id, user: "developer", tenant: "acme" });
    const listed = await ask("admin", "GET", "tokens");
    expect(listed.body).toMatchObject({
      tokens: expect.arrayContaining([expect.objectContaining({ id, expires: "2026-12-31T23:00:00.000Z" })]),
    });
    expect(JSON.stringify(listed.body)).not.toContain(secret);
  });

  test("of a store that is gone is answered, not thrown", async () => {
    await using elsewhere = await temporaryFolder();
    const other = await Home.open(elsewhere.path);
    const [route] = identityRoutes(other.identity).filter(
      ({ path, method }) => path.endsWith("/users") && method === "GET",
    );
    const principal = other.identity.local();
    await other[Symbol.asyncDispose]();
    expect(await route?.handle({ principal, params: {} })).toMatchObject({
      status: 503,
      body: { code: "unavailable" },
    });
  });
});
