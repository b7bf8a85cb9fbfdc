import { Roster } from "@reins/policy";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Identity } from "../src/identity/identity.ts";
import type { Principal } from "../src/identity/principal.ts";
import { Home, temporaryFolder } from "../test/identity-home.ts";

const roster = Roster.read(
  [
    { session_id: "warden", kind: "role", state: "live" },
    { session_id: "reed", kind: "agent", state: "live" },
    { session_id: "fern", kind: "agent", state: "live" },
  ]
    .map((line) => JSON.stringify(line))
    .join("\n"),
);
const LIMITS = { depth: 3, repeats: 2, children: 60, lifetime: 60_000 };

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let home: Home;
let identity: Identity;
let count = 0;

beforeAll(async () => {
  folder = await temporaryFolder();
  home = await Home.open(folder.path, { limits: LIMITS });
  identity = home.identity;
  identity.useRoster(roster);
});
afterAll(async () => {
  await home[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

/** A new user with a token, as the principal it gives. */
async function newPrincipal(scopes: readonly string[] = ["a", "b", "c"], token: object = {}) {
  count += 1;
  const user = `user-${count}`;
  await identity.addUser({ id: user, name: "Some Body", email: "some@example.com", roles: ["dev"], scopes });
  const { id, secret } = await identity.createToken({ user, agents: ["reed", "fern"], ...token });
  const principal = await identity.authenticate(secret);
  if (!principal) throw new Error("no principal");
  return { user, id, secret, principal };
}

const task = {
  parentSession: "root",
  parentAgent: "reed",
  childAgent: "fern",
  task: "look around",
  scopes: ["*"],
};
const asked = { session: "root", enforcement: "asked" as const };

function subjectOf(principal: Principal, agent: string, childToken?: string) {
  return identity.subjectFor({ ...asked, principal, agent, childToken });
}

describe("the subject of an event", () => {
  test("is what the principal is, whatever the agent says", async () => {
    const { principal, user } = await newPrincipal(["a"], { started: "background" });
    expect(identity.subjectFor({ ...asked, principal, agent: "reed", mode: "plan" })).toEqual({
      user,
      tenant: "default",
      roles: ["dev"],
      scopes: ["a"],
      agent: "reed",
      trust: "registered",
      session: "root",
      started: "background",
      chain: [],
      depth: 0,
      mode: "plan",
      enforcement: "asked",
    });
  });

  test("has an agent only if the token may act as it; standing on the roster does not help", async () => {
    const { principal } = await newPrincipal();
    expect(subjectOf(principal, "warden")).toMatchObject({ agent: "unverified:warden", trust: "unknown" });
    expect(subjectOf(principal, "stranger")).toMatchObject({
      agent: "unverified:stranger",
      trust: "unknown",
    });
    expect(subjectOf(identity.local(), "warden")).toMatchObject({ agent: "warden", trust: "standing" });
    expect(subjectOf(identity.local(), "stranger")).toMatchObject({ agent: "stranger", trust: "unknown" });
  });

  test("is a sub-agent's when the harness itself began it below another", async () => {
    const { principal } = await newPrincipal();
    const subject = identity.subjectFor({ ...asked, principal, agent: "reed", depth: 2 });
    expect(subject).toMatchObject({ depth: 2, started: "sub-agent" });
  });

  test("is refused with the first decision after the token or the user went, without asking again", async () => {
    const [one, other] = [await newPrincipal(), await newPrincipal()];
    expect(subjectOf(one.principal, "reed").user).toBe(one.user);
    await identity.revokeToken(one.id);
    await identity.removeUser({ id: other.user });
    expect(() => subjectOf(one.principal, "reed")).toThrow(expect.objectContaining({ code: "forbidden" }));
    expect(() => subjectOf(other.principal, "reed")).toThrow(expect.objectContaining({ code: "forbidden" }));
  });

  test("follows the user's scopes and roles from one decision to the next", async () => {
    const { principal, user } = await newPrincipal();
    const { session_token } = await identity.delegate({ ...task, principal });
    await identity.setUser({ id: user, scopes: ["b"], roles: [] });
    expect(subjectOf(principal, "reed")).toMatchObject({ scopes: ["b"], roles: [] });
    expect(subjectOf(principal, "fern", session_token)).toMatchObject({ scopes: ["b"], roles: [] });
  });
});

describe("a sub-agent", () => {
  test.each([
    [true, "unverified:oak", "unknown"],
    [false, "reed", "registered"],
  ])(
    "below an agent that its token does not name (hosted: %s) comes from %s",
    async (hosted, parent, trust) => {
      const { principal } = await newPrincipal(["a"], { agents: ["reed"], kind: "agent" });
      const delegated = { ...task, parentAgent: "oak", childAgent: "reed", principal, hosted };
      const { session_token } = await identity.delegate(delegated);
      expect(subjectOf(principal, "reed", session_token)).toMatchObject({ chain: [parent], trust });
    },
  );

  test("carries its chain, its depth and that it is one, in a session of its own", async () => {
    const { principal, user } = await newPrincipal();
    const child = await identity.delegate({ ...task, principal, scopes: ["a", "b"] });
    const subject = subjectOf(principal, "fern", child.session_token);
    expect(subject).toMatchObject({
      user,
      chain: ["reed"],
      depth: 1,
      started: "sub-agent",
      scopes: ["a", "b"],
    });
    expect(subject).toMatchObject({ session: child.session_id, agent: "fern", trust: "registered" });
    const grandchild = await identity.delegate({
      ...task,
      principal,
      parentSession: child.session_id,
      parentAgent: "another",
      childAgent: "reed",
      scopes: ["b", "c"],
    });
    expect(subjectOf(principal, "reed", grandchild.session_token)).toMatchObject({
      chain: ["reed", "fern"],
      depth: 2,
      scopes: ["b"],
    });
  });

  test("begun with the token of another stands below that one, whatever session it names", async () => {
    const { principal } = await newPrincipal();
    const child = await identity.delegate({ ...task, principal, scopes: ["a"] });
    const below = await identity.delegate({ ...task, principal, childToken: child.session_token });
    expect(identity.childOf(below.session_token)).toMatchObject({
      parent: child.session_id,
      chain: ["reed", "fern"],
      scopes: ["a"],
    });
  });

  test("is trusted no more than its parent, and not at all under another name", async () => {
    const principal = identity.local();
    const low = await identity.delegate({
      ...task,
      principal,
      parentAgent: "stranger",
      childAgent: "warden",
    });
    expect(subjectOf(principal, "warden", low.session_token)).toMatchObject({
      agent: "warden",
      trust: "unknown",
    });
    const fair = await identity.delegate({ ...task, principal, childAgent: "warden" });
    expect(subjectOf(principal, "warden", fair.session_token).trust).toBe("registered");
    expect(subjectOf(principal, "fern", fair.session_token)).toMatchObject({
      agent: "unverified:fern",
      trust: "unknown",
    });
    await identity.revokeSession("root");
  });

  test("of a name its token may not use is unverified", async () => {
    const { principal } = await newPrincipal();
    const child = await identity.delegate({ ...task, principal, childAgent: "warden" });
    expect(subjectOf(principal, "warden", child.session_token)).toMatchObject({
      agent: "unverified:warden",
      trust: "unknown",
    });
  });

  test("cannot leave its token behind and be its parent", async () => {
    const { principal } = await newPrincipal();
    const { session_id } = await identity.delegate({ ...task, principal, scopes: ["a"] });
    expect(() => identity.subjectFor({ ...asked, principal, agent: "fern", session: session_id })).toThrow(
      expect.objectContaining({ code: "forbidden" }),
    );
  });

  test("never has more than its user, its parent's task or its own, and all that they share", async () => {
    const scopes = fc.uniqueArray(fc.constantFrom<string>("*", "a", "b", "c", "d"));
    const given = fc.record({ user: scopes, token: scopes, parent: scopes, child: scopes });
    await fc.assert(
      fc.asyncProperty(given, async ({ user, token, parent, child }) => {
        const { principal } = await newPrincipal(user, { scopes: token });
        const one = await identity.delegate({ ...task, principal, scopes: parent });
        const other = await identity.delegate({
          ...task,
          principal,
          childToken: one.session_token,
          scopes: child,
        });
        const held = subjectOf(principal, "fern", other.session_token).scopes;
        const holds = (list: readonly string[], scope: string) => list.includes("*") || list.includes(scope);
        for (const scope of ["a", "b", "c", "d", "e"])
          expect(holds(held, scope)).toBe([user, token, parent, child].every((list) => holds(list, scope)));
        await identity.revokeSession("root", principal);
      }),
      { numRuns: 25 },
    );
  });

  test("stands only so deep, and only so often in one chain", async () => {
    const { principal } = await newPrincipal(["a"], { agents: ["*"] });
    let childToken: string | undefined;
    for (const childAgent of ["one", "two", "three"]) {
      ({ session_token: childToken } = await identity.delegate({
        ...task,
        principal,
        childAgent,
        childToken,
      }));
    }
    await expect(
      identity.delegate({ ...task, principal, childAgent: "four", childToken }),
    ).rejects.toMatchObject({
      code: "forbidden",
      message: "sub-agents may be at most 3 deep",
    });
    const again = await identity.delegate({ ...task, principal, childAgent: "reed" });
    await expect(
      identity.delegate({ ...task, principal, childAgent: "reed", childToken: again.session_token }),
    ).rejects.toMatchObject({ code: "forbidden", message: '"reed" may occur at most 2 times in one chain' });
  });

  test("is one of only so many, however many are asked for at once", async () => {
    const { principal } = await newPrincipal();
    const begun = await Promise.allSettled(
      Array.from({ length: LIMITS.children + 20 }, () => identity.delegate({ ...task, principal })),
    );
    expect(begun.filter(({ status }) => status === "fulfilled")).toHaveLength(LIMITS.children);
    expect(await identity.revokeSession("root", principal)).toBe(LIMITS.children);
    await identity.delegate({ ...task, principal });
  });

  test("ends when its time is over, or its parent's", async () => {
    const expires = new Date(home.clock.now().getTime() + 20_000);
    const [forever, brief] = [await newPrincipal(), await newPrincipal(["a"], { expires })];
    const long = await identity.delegate({ ...task, principal: forever.principal });
    const short = await identity.delegate({ ...task, principal: brief.principal });
    expect(identity.childOf(short.session_token)?.expires).toBe(expires.toISOString());
    home.clock.advance(30_000);
    const below = await identity.delegate({
      ...task,
      principal: forever.principal,
      childToken: long.session_token,
    });
    expect(identity.childOf(below.session_token)?.expires).toBe(
      identity.childOf(long.session_token)?.expires,
    );
    expect(identity.childOf(short.session_token)).toBeUndefined();
    home.clock.advance(30_000);
    for (const { session_token } of [long, below]) {
      expect(identity.childOf(session_token)).toBeUndefined();
      expect(() => subjectOf(forever.principal, "fern", session_token)).toThrow(
        expect.objectContaining({ code: "forbidden" }),
      );
    }
  });

  test("goes with its parent, its root, its token or its user, and so does everything below it", async () => {
    const ways: readonly ((owner: Owner) => Promise<unknown>)[] = [
      ({ child, principal }) => identity.revokeSession(child.session_id, principal),
      ({ principal }) => identity.revokeSession("root", principal),
      ({ id }) => identity.revokeToken(id),
      ({ user }) => identity.removeUser({ id: user }),
    ];
    type Owner = Awaited<ReturnType<typeof newPrincipal>> & { child: { session_id: string } };
    const bystander = await newPrincipal();
    const other = await identity.delegate({ ...task, principal: bystander.principal });
    for (const end of ways) {
      const owner = await newPrincipal();
      const { principal } = owner;
      const child = await identity.delegate({ ...task, principal });
      const below = await identity.delegate({
        ...task,
        principal,
        childToken: child.session_token,
        scopes: ["a"],
      });
      await end({ ...owner, child });
      expect(identity.childOf(child.session_token)).toBeUndefined();
      expect(identity.childOf(below.session_token)).toBeUndefined();
      expect((await identity.listSessions()).filter(({ user }) => user === owner.user)).toEqual([]);
      await expect(
        identity.delegate({ ...task, principal, childToken: child.session_token }),
      ).rejects.toMatchObject({ code: "forbidden" });
    }
    expect(identity.childOf(other.session_token)).toBeDefined();
  });

  test("begun while its token is being revoked is never left alive", async () => {
    const { principal, id } = await newPrincipal();
    const begun = Array.from({ length: 10 }, () => identity.delegate({ ...task, principal }));
    const revoked = identity.revokeToken(id);
    const late = Array.from({ length: 10 }, () => identity.delegate({ ...task, principal }));
    await revoked;
    const settled = await Promise.allSettled([...begun, ...late]);
    for (const result of settled) {
      if (result.status === "rejected") expect(["conflict", "forbidden"]).toContain(result.reason.code);
      else expect(identity.childOf(result.value.session_token)).toBeUndefined();
    }
    expect((await identity.listSessions()).filter(({ principal: of }) => of === id)).toEqual([]);
  });

  test("has a token that no other principal can use, and that authenticates nothing by itself", async () => {
    const [one, other] = [await newPrincipal(), await newPrincipal()];
    const second = await identity.createToken({ user: one.user, agents: ["*"] });
    const sibling = await identity.authenticate(second.secret);
    const { session_token, session_id } = await identity.delegate({ ...task, principal: one.principal });
    for (const thief of [other.principal, sibling!, identity.local()]) {
      expect(() => subjectOf(thief, "fern", session_token)).toThrow(
        expect.objectContaining({ code: "forbidden" }),
      );
      await expect(
        identity.delegate({ ...task, principal: thief, parentSession: session_id }),
      ).rejects.toMatchObject({ code: "not_found" });
      await expect(
        identity.delegate({ ...task, principal: thief, childToken: session_token }),
      ).rejects.toMatchObject({ code: "forbidden" });
    }
    expect(await identity.revokeSession(session_id, other.principal)).toBe(0);
    expect(await identity.authenticate(session_token)).toBeUndefined();
    expect(identity.childOf(one.secret)).toBeUndefined();
    expect(identity.childOf(session_token.slice(0, -1))).toBeUndefined();
    expect(identity.childOf(session_token)).toBeDefined();
  });
});
