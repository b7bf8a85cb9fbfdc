import { randomBytes } from "node:crypto";
import { ManualClock } from "@reins/kit/manual-clock";
import { openSqliteReader, type StoreReader } from "@reins/store";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Identity } from "../src/identity/identity.ts";
import { identityTables } from "../src/identity/tables/tables.ts";
import { Home, temporaryFolder } from "../test/identity-home.ts";

/** Lets go of everything after a test, the last first. */
function keep<Held extends AsyncDisposable>(held: Held): Held {
  onTestFinished(() => held[Symbol.asyncDispose]());
  return held;
}

const person = (id: string, rest: object = {}) => ({
  id,
  name: "Some Body",
  email: `${id}@example.com`,
  roles: ["dev"],
  scopes: ["fs:read", "fs:write"],
  ...rest,
});

describe("on one database", () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  let home: Home;
  let identity: Identity;
  let count = 0;
  const newUser = async (rest: object = {}) => {
    count += 1;
    return identity.addUser(person(`user-${count}`, rest));
  };

  beforeAll(async () => {
    folder = await temporaryFolder();
    home = await Home.open(folder.path);
    identity = home.identity;
  });
  afterAll(async () => {
    await home[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
  });

  test("the operator at this machine needs no token", () => {
    expect(identity.local()).toEqual({
      id: "local",
      kind: "user",
      user: "operator",
      tenant: "default",
      roles: ["admin"],
      scopes: ["*"],
      agents: ["*"],
      started: "interactive",
    });
  });

  test("a token stands for its user, and no more than both have", async () => {
    const { id: user } = await newUser();
    const { id, secret } = await identity.createToken({
      user,
      kind: "service",
      scopes: ["fs:write", "net"],
      agents: ["reed"],
      started: "background",
    });
    expect(await identity.authenticate(secret)).toEqual({
      id,
      kind: "service",
      user,
      tenant: "default",
      roles: ["dev"],
      scopes: ["fs:write"],
      agents: ["reed"],
      started: "background",
    });
    const [token] = (await identity.listTokens()).filter((listed) => listed.id === id);
    expect(token).toMatchObject({ user, kind: "service", scopes: ["fs:write", "net"], revoked: undefined });
    expect(JSON.stringify(token)).not.toContain(secret.slice(6));
    expect(token).not.toHaveProperty("hash");
  });

  test("a token without further words has its user's roles and scopes, no agents, and was started over the API", async () => {
    const { id: user } = await newUser({ scopes: ["*"] });
    const { secret } = await identity.createToken({ user });
    expect(await identity.authenticate(secret)).toMatchObject({
      kind: "user",
      roles: ["dev"],
      scopes: ["*"],
      agents: [],
      started: "api",
    });
  });

  test("what a user loses its tokens lose with the next decision, and what it gains they gain", async () => {
    const { id } = await newUser({ roles: ["admin", "dev"] });
    const { secret } = await identity.createToken({ user: id });
    const principal = await identity.authenticate(secret);
    await identity.setUser({ id, roles: ["dev"], scopes: ["fs:read"] });
    expect(await identity.authenticate(secret)).toMatchObject({ roles: ["dev"], scopes: ["fs:read"] });
    expect(await identity.current(principal!)).toMatchObject({ roles: ["dev"], scopes: ["fs:read"] });
    await identity.setUser({ id, scopes: ["*"] });
    expect(await identity.authenticate(secret)).toMatchObject({ roles: ["dev"], scopes: ["*"] });
  });

  test("revoking a token ends it at once, also for holders of its principal, and only it", async () => {
    const { id: user } = await newUser();
    const [one, other] = [await identity.createToken({ user }), await identity.createToken({ user })];
    const principal = await identity.authenticate(one.secret);
    await identity.revokeToken(one.id);
    expect(await identity.authenticate(one.secret)).toBeUndefined();
    expect(await identity.current(principal!)).toBeUndefined();
    await expect(identity.listUsers(undefined, principal)).rejects.toMatchObject({ code: "forbidden" });
    expect(await identity.authenticate(other.secret)).toBeDefined();
    await expect(identity.revokeToken(one.id)).rejects.toMatchObject({ code: "conflict" });
    await expect(identity.revokeToken("tok_nobody")).rejects.toMatchObject({ code: "not_found" });
  });

  test("of many who revoke one token one does", async () => {
    const { id: user } = await newUser();
    const { id } = await identity.createToken({ user });
    const revoked = await Promise.allSettled(Array.from({ length: 8 }, () => identity.revokeToken(id)));
    expect(revoked.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const entries = await home.ledger.read({ tag: "identity", limit: 10_000 });
    expect(entries.filter(({ entry }) => entry.target === id)).toHaveLength(2);
  });

  test("removing a user ends its tokens for good: one who comes again under that id has none of them", async () => {
    const { id } = await newUser();
    const { secret } = await identity.createToken({ user: id });
    await identity.removeUser({ id });
    expect(await identity.authenticate(secret)).toBeUndefined();
    expect((await identity.listUsers()).map((user) => user.id)).not.toContain(id);
    await expect(identity.removeUser({ id })).rejects.toMatchObject({ code: "not_found" });
    await expect(identity.createToken({ user: id })).rejects.toMatchObject({ code: "not_found" });
    await identity.addUser(person(id, { scopes: ["*"] }));
    expect(await identity.authenticate(secret)).toBeUndefined();
  });

  test("a revocation amid many requests: every request after it is rejected", async () => {
    const { id: user } = await newUser();
    const { id, secret } = await identity.createToken({ user });
    const before = Array.from({ length: 50 }, () => identity.authenticate(secret));
    let revoked = false;
    const late: Promise<unknown>[] = [];
    const asking = (async () => {
      while (late.length < 50) {
        if (revoked) late.push(identity.authenticate(secret));
        else await identity.authenticate(secret);
        await new Promise(setImmediate);
      }
    })();
    await identity.revokeToken(id);
    revoked = true;
    await asking;
    expect((await Promise.all(before)).every((principal) => principal?.id === id)).toBe(true);
    expect((await Promise.all(late)).every((principal) => principal === undefined)).toBe(true);
  });

  test("a token ends when it expires, and one that would never be valid is not made", async () => {
    const { id: user } = await newUser();
    const expires = new Date(home.clock.now().getTime() + 60_000);
    const { secret } = await identity.createToken({ user, expires });
    home.clock.advance(59_999);
    const principal = await identity.authenticate(secret);
    expect(principal).toBeDefined();
    home.clock.advance(1);
    expect(await identity.authenticate(secret)).toBeUndefined();
    expect(await identity.current(principal!)).toBeUndefined();
    await expect(identity.createToken({ user, expires })).rejects.toMatchObject({ code: "invalid" });
    await expect(identity.createToken({ user, expires: "tomorrow" })).rejects.toMatchObject({
      code: "invalid",
    });
  });

  test("a watched principal that is revoked, removed or expired is reported once", async () => {
    const watched = async (expires?: Date) => {
      const { id: user } = await newUser();
      const { id, secret } = await identity.createToken({ user, ...(expires && { expires }) });
      const lost: string[] = [];
      const unwatch = identity.watch((await identity.authenticate(secret))!, (reason) => lost.push(reason));
      return { user, id, lost, unwatch };
    };
    const expires = new Date(home.clock.now().getTime() + 60_000);
    const [revoked, removed, expired, left] = [
      await watched(),
      await watched(),
      await watched(expires),
      await watched(),
    ];
    await identity.revokeToken(revoked.id);
    expect(revoked.lost).toEqual([`the token "${revoked.id}" was revoked, has expired or does not exist`]);
    await identity.removeUser({ id: removed.user });
    expect(removed.lost).toHaveLength(1);
    home.clock.advance(59_999);
    expect(expired.lost).toEqual([]);
    home.clock.advance(1);
    expect(expired.lost).toHaveLength(1);
    left.unwatch();
    await identity.revokeToken(left.id);
    expect([revoked, removed, expired, left].map(({ lost }) => lost.length)).toEqual([1, 1, 1, 0]);
  });

  test("a secret that was cut, changed or made up opens nothing", async () => {
    const { id: user } = await newUser();
    const { id, secret } = await identity.createToken({ user });
    const forged = Array.from(secret, (_, place) => [
      secret.slice(0, place),
      secret.slice(0, place) + (secret[place] === "x" ? "y" : "x") + secret.slice(place + 1),
    ]).flat();
    const odd = [
      `${secret} `,
      `${secret}a`,
      secret.toUpperCase(),
      id,
      `reins_${randomBytes(32).toString("base64url")}`,
    ];
    for (const text of [...forged, ...odd]) expect(await identity.authenticate(text), text).toBeUndefined();
    expect(await identity.authenticate(secret)).toBeDefined();
  });

  test("of many who add one user one does, and all who change it have their way", async () => {
    const id = `user-${++count}`;
    const added = await Promise.allSettled(Array.from({ length: 8 }, () => identity.addUser(person(id))));
    expect(added.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const result of added)
      if (result.status === "rejected") expect(result.reason).toMatchObject({ code: "conflict" });
    await Promise.all([
      identity.setUser({ id, roles: ["one"] }),
      identity.setUser({ id, scopes: ["two"] }),
      identity.setUser({ id, name: "Three" }),
    ]);
    const [user] = (await identity.listUsers()).filter((listed) => listed.id === id);
    expect(user).toMatchObject({ roles: ["one"], scopes: ["two"], name: "Three" });
  });

  test("a user grants only what it has, and only an admin grants anything", async () => {
    const { id: narrow } = await newUser({ roles: ["admin"], scopes: ["fs:read"] });
    const { id: wide } = await newUser({ scopes: ["*"] });
    const admin = await identity.authenticate(
      (await identity.createToken({ user: narrow, agents: ["reed"] })).secret,
    );
    const given = [
      identity.addUser(person("never"), admin),
      identity.setUser({ id: narrow, scopes: ["*"] }, admin),
      identity.createToken({ user: wide }, admin),
      identity.createToken({ user: narrow, agents: ["*"] }, admin),
      identity.setUser({ id: "operator", roles: [] }, admin),
      identity.removeUser({ id: "operator" }, admin),
    ];
    for (const attempt of await Promise.allSettled(given))
      expect(attempt).toMatchObject({ status: "rejected", reason: { code: "forbidden" } });
    await identity.createToken({ user: wide, scopes: ["fs:read"], agents: ["reed"] }, admin);
    const kinds = [
      await identity.createToken({ user: wide }),
      await identity.createToken({ user: narrow, kind: "agent" }),
    ];
    for (const { secret } of kinds) {
      const principal = await identity.authenticate(secret);
      await expect(identity.createToken({ user: narrow }, principal)).rejects.toMatchObject({
        code: "forbidden",
      });
      await expect(identity.listTokens(undefined, principal)).rejects.toMatchObject({ code: "forbidden" });
    }
  });

  test.each([
    ["an id with a slash", { id: "a/b" }],
    ["an id with a line end", { id: "a\nb" }],
    ["an id that only looks plain", { id: "аnn" }],
    ["no id", { id: "" }],
    ["no email", { email: "no-address" }],
    ["a name of two lines", { name: "Ann\nOperator" }],
    ["a scope that looks like a pattern", { scopes: ["fs:*"] }],
    ["a role that is no name", { roles: ["ad min"] }],
    ["endless roles", { roles: Array.from({ length: 201 }, (_, index) => `role-${index}`) }],
    ["what users do not have", { password: "x" }],
  ])("a user with %s is refused", async (_, rest) => {
    await expect(identity.addUser(person("odd", rest))).rejects.toMatchObject({ code: "invalid" });
  });

  test("a token cannot have a role that its user lacks", async () => {
    const { id: user } = await newUser();
    await expect(identity.createToken({ user, role: "admin" })).rejects.toMatchObject({ code: "invalid" });
  });
});

test("users, tokens and sub-agents are there after a restart, and what was revoked is not", async () => {
  const { path } = keep(await temporaryFolder());
  const first = await Home.open(path);
  await first.identity.addUser(person("ann"));
  const [kept, gone] = [
    await first.identity.createToken({ user: "ann", agents: ["reed"] }),
    await first.identity.createToken({ user: "ann" }),
  ];
  const principal = (await first.identity.authenticate(kept.secret))!;
  const task = { parentAgent: "reed", childAgent: "reed", task: "look", scopes: ["fs:read"], principal };
  const child = await first.identity.delegate({ ...task, parentSession: "s" });
  const ended = await first.identity.delegate({ ...task, parentSession: "t" });
  await first.identity.revokeToken(gone.id);
  await first.identity.revokeSession("t", principal);
  await first[Symbol.asyncDispose]();

  const { identity } = keep(await Home.open(path));
  expect(await identity.authenticate(kept.secret)).toEqual(principal);
  expect(await identity.authenticate(gone.secret)).toBeUndefined();
  expect(identity.childOf(child.session_token)).toMatchObject({
    session_id: child.session_id,
    scopes: ["fs:read"],
  });
  expect(identity.childOf(ended.session_token)).toBeUndefined();
});

describe("in another process", () => {
  async function beside(
    home: Home,
    staleAfter: number,
  ): Promise<{ clock: ManualClock; identity: Identity; store: StoreReader }> {
    const store = await openSqliteReader(home.database, [identityTables]);
    onTestFinished(() => store.close());
    const clock = new ManualClock("2026-11-15T05:20:00.000Z");
    const ledger = { record: () => Promise.reject(new Error("this process only reads")) };
    return { store, clock, identity: await Identity.open({ store, ledger, clock, staleAfter }) };
  }

  test("a change counts within the bound, and at once without one", async () => {
    const folder = keep(await temporaryFolder());
    const home = keep(await Home.open(folder.path));
    const [patient, eager] = [await beside(home, 50), await beside(home, 0)];
    await home.identity.addUser(person("ann"));
    const { id, secret } = await home.identity.createToken({ user: "ann" });
    expect(await eager.identity.authenticate(secret)).toMatchObject({ id });
    patient.clock.advance(50);
    const principal = await patient.identity.authenticate(secret);
    expect(principal).toMatchObject({ id });
    await home.identity.revokeToken(id);
    expect(await eager.identity.authenticate(secret)).toBeUndefined();
    patient.clock.advance(50);
    expect(await patient.identity.authenticate(secret)).toBeUndefined();
    expect(await patient.identity.current(principal!)).toBeUndefined();
  });

  test("a token that was added counts at once, however lately others were looked for", async () => {
    const folder = keep(await temporaryFolder());
    const home = keep(await Home.open(folder.path));
    const { identity } = await beside(home, 50);
    await home.identity.addUser(person("ann"));
    const { id, secret } = await home.identity.createToken({ user: "ann" });
    const next = await home.identity.createToken({ user: "ann" });
    expect(await identity.current(next)).toMatchObject({ id: next.id });
    const third = await home.identity.createToken({ user: "ann" });
    expect(
      await Promise.all([identity.authenticate(secret), identity.authenticate(third.secret)]),
    ).toMatchObject([{ id }, { id: third.id }]);
    expect(await identity.authenticate(`${secret}x`)).toBeUndefined();
  });

  test("a clock that jumps back makes it look again, not trust what it has", async () => {
    const folder = keep(await temporaryFolder());
    const home = keep(await Home.open(folder.path));
    const { clock, identity } = await beside(home, 50);
    await home.identity.addUser(person("ann"));
    const { secret } = await home.identity.createToken({ user: "ann" });
    clock.advance(-1_000_000);
    expect(await identity.authenticate(secret)).toBeDefined();
  });

  test("a directory that cannot be read admits no user", async () => {
    const folder = keep(await temporaryFolder());
    const home = keep(await Home.open(folder.path));
    await home.identity.addUser(person("ann"));
    const { secret } = await home.identity.createToken({ user: "ann" });
    const { clock, identity, store } = await beside(home, 50);
    expect(await identity.authenticate(secret)).toBeDefined();
    await store.close();
    clock.advance(50);
    await expect(identity.authenticate(secret)).rejects.toMatchObject({ code: "closed" });
  });
});
