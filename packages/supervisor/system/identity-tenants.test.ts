import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Identity } from "../src/identity/identity.ts";
import type { Principal } from "../src/identity/principal.ts";
import { Home, temporaryFolder } from "../test/identity-home.ts";

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let home: Home;
let identity: Identity;
let count = 0;

beforeAll(async () => {
  folder = await temporaryFolder();
  home = await Home.open(folder.path);
  identity = home.identity;
});
afterAll(async () => {
  await home[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

const person = (id: string, tenant?: string) => ({
  id,
  tenant,
  name: "Some Body",
  email: "some@example.com",
  roles: ["admin"],
  scopes: ["*"],
});
const task = { parentSession: "root", parentAgent: "reed", childAgent: "reed", task: "look", scopes: ["*"] };

/** A new tenant with an admin, another user of the same name as in every tenant, and a sub-agent. */
async function newTenant() {
  count += 1;
  const tenant = `tenant-${count}`;
  await identity.addUser(person("ann", tenant));
  await identity.addUser(person("bob", tenant));
  const { id: token, secret } = await identity.createToken({ user: "ann", tenant, agents: ["*"] });
  const admin = await identity.authenticate(secret);
  if (!admin) throw new Error("no principal");
  const child = await identity.delegate({ ...task, principal: admin });
  return { tenant, admin, token, secret, child };
}

/** All that a tenant can see of itself. */
async function viewOf({ tenant, admin, secret, child }: Awaited<ReturnType<typeof newTenant>>) {
  return {
    users: await identity.listUsers(tenant, admin),
    tokens: await identity.listTokens(undefined, admin),
    sessions: await identity.listSessions(undefined, admin),
    tenants: await identity.listTenants(admin),
    principal: await identity.authenticate(secret),
    child: identity.childOf(child.session_token),
  };
}

describe("two tenants", () => {
  test("may both have an ann, who are two people with two keys", async () => {
    const [one, other] = [await newTenant(), await newTenant()];
    await identity.setUser({ id: "ann", roles: ["admin", "dev"] }, one.admin);
    expect((await identity.authenticate(one.secret))?.roles).toEqual(["admin", "dev"]);
    expect((await identity.authenticate(other.secret))?.roles).toEqual(["admin"]);
    const changes = await home.ledger.read({ actor: `user:${one.tenant}/ann`, quality: "policy_change" });
    expect(changes.length).toBeGreaterThan(0);
  });

  test("whatever one does, with whichever names, the other sees and feels nothing of it", async () => {
    const own = fc.boolean();
    const action = fc.oneof(
      fc.record({ do: fc.constant("addUser" as const), id: fc.constantFrom("ann", "carl"), own }),
      fc.record({ do: fc.constant("setUser" as const), id: fc.constantFrom("ann", "bob"), own }),
      fc.record({ do: fc.constant("removeUser" as const), id: fc.constantFrom("bob", "carl"), own }),
      fc.record({ do: fc.constant("createToken" as const), id: fc.constantFrom("ann", "bob"), own }),
      fc.record({ do: fc.constant("revokeToken" as const), id: fc.constant(""), own: fc.constant(false) }),
      fc.record({ do: fc.constant("revokeSession" as const), id: fc.constantFrom("root", ""), own }),
      fc.record({ do: fc.constant("delegate" as const), id: fc.constant(""), own }),
      fc.record({ do: fc.constant("removeTenant" as const), id: fc.constant(""), own }),
      fc.record({ do: fc.constant("list" as const), id: fc.constant(""), own }),
    );
    const [actor, victim] = [await newTenant(), await newTenant()];
    const before = await viewOf(victim);
    const run = async (by: Principal, { do: what, id, own }: { do: string; id: string; own: boolean }) => {
      const tenant = own ? actor.tenant : victim.tenant;
      const session = id === "" ? victim.child.session_id : id;
      if (what === "addUser") return identity.addUser(person(id, tenant), by);
      if (what === "setUser") return identity.setUser({ id, tenant, scopes: ["*"], roles: ["admin"] }, by);
      if (what === "removeUser") return identity.removeUser({ id, tenant }, by);
      if (what === "createToken") return identity.createToken({ user: id, tenant }, by);
      if (what === "revokeToken") return identity.revokeToken(victim.token, by);
      if (what === "revokeSession") return identity.revokeSession(session, by, own ? undefined : tenant);
      if (what === "removeTenant") return identity.removeTenant(tenant, by);
      if (what === "list") return identity.listTokens(tenant, by);
      return identity.delegate({
        ...task,
        principal: by,
        parentSession: own ? "root" : victim.child.session_id,
      });
    };
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 6 }), async (actions) => {
        for (const wanted of actions) {
          const [outcome] = await Promise.allSettled([run(actor.admin, wanted)]);
          if (!wanted.own)
            expect(outcome, JSON.stringify(wanted)).toMatchObject({
              status: "rejected",
              reason: { code: "not_found" },
            });
          const told = JSON.stringify(
            outcome?.status === "fulfilled" ? outcome.value : outcome?.reason.message,
          );
          for (const secret of [victim.secret, victim.child.session_token])
            expect(told ?? "").not.toContain(secret);
        }
        expect(await viewOf(victim)).toEqual(before);
      }),
      { numRuns: 20 },
    );
  });

  test("to an admin another tenant is as unknown as one that never was", async () => {
    const [one, other] = [await newTenant(), await newTenant()];
    const messages: string[] = [];
    for (const tenant of [other.tenant, "never-was"]) {
      const failure = await identity.listUsers(tenant, one.admin).catch((error: unknown) => error);
      messages.push(String(failure).replace(tenant, "it"));
    }
    expect(messages[0]).toBe(messages[1]);
    expect(await identity.listTenants(one.admin)).toMatchObject([{ id: one.tenant }]);
  });
});

test("the operator reaches every tenant, and can end one as a whole", async () => {
  const [one, other] = [await newTenant(), await newTenant()];
  expect((await identity.listTenants()).map(({ id }) => id)).toEqual(
    expect.arrayContaining(["default", one.tenant, other.tenant]),
  );
  expect(await identity.revokeSession("root", identity.local(), one.tenant)).toBe(1);
  expect(identity.childOf(other.child.session_token)).toBeDefined();
  await identity.removeTenant(other.tenant);
  expect(await identity.authenticate(other.secret)).toBeUndefined();
  expect(identity.childOf(other.child.session_token)).toBeUndefined();
  expect(await identity.listUsers(other.tenant)).toEqual([]);
  expect(await identity.authenticate(one.secret)).toBeDefined();
  await expect(identity.removeTenant(other.tenant)).rejects.toMatchObject({ code: "not_found" });
  await expect(identity.removeTenant("default")).rejects.toMatchObject({ code: "forbidden" });
  await identity.addUser(person("ann", other.tenant));
  expect(await identity.authenticate(other.secret)).toBeUndefined();
});
