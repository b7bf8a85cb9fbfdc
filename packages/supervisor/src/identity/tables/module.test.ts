import { DatabaseSync } from "node:sqlite";
import type { Database, Statement } from "@reins/store";
import { beforeEach, describe, expect, test } from "vitest";
import type { StoredChild } from "../delegation.ts";
import { LOCAL } from "../principal.ts";
import type { StoredToken } from "../tokens.ts";
import type { StoredUser } from "../users.ts";
import { openChildChanges, openTokenChanges, openUserChanges } from "./changes.ts";
import { MIGRATIONS } from "./module.ts";
import { openQueries, Versions } from "./queries.ts";
import type { IdentityChanges, IdentityQueries } from "./tables.ts";

/** The tables of identity in memory. */
function open(): { readonly change: IdentityChanges; readonly query: IdentityQueries } {
  const sqlite = new DatabaseSync(":memory:", { allowUnknownNamedParameters: true });
  for (const migration of MIGRATIONS) sqlite.exec(migration);
  const database: Database = {
    prepare<Row>(sql: string): Statement<Row> {
      const statement = sqlite.prepare(sql);
      const named = (parameters: readonly unknown[]) => Object(parameters[0] ?? {});
      return {
        run: (...parameters) => {
          const { changes, lastInsertRowid } = statement.run(named(parameters));
          return { changes: Number(changes), lastInsertRowid };
        },
        get: (...parameters) => statement.get(named(parameters)) as Row | undefined,
        all: (...parameters) => statement.all(named(parameters)) as Row[],
      };
    },
    exec: (sql) => sqlite.exec(sql),
    inTransaction: false,
    close: () => sqlite.close(),
  };
  const versions = new Versions(database);
  const change = {
    ...openUserChanges(database, versions),
    ...openTokenChanges(database, versions),
    ...openChildChanges(database, versions),
  };
  return { change, query: openQueries(database, versions) };
}

const AT = "2026-02-04T09:00:00.000Z";
const LATER = "2026-02-04T10:00:00.000Z";
const EXPIRES = "2026-02-04T12:00:00.000Z";

type UserPut = Parameters<IdentityChanges["putUser"]>[0]["user"];
type TokenAdd = Parameters<IdentityChanges["addToken"]>[0]["token"];
type ChildAdd = Parameters<IdentityChanges["addChild"]>[0]["child"];

const user = (id: string, more: Partial<StoredUser> = {}): UserPut => ({
  ...{ id, tenant: "acme", name: id, email: `${id}@example.com`, roles: ["builder"], scopes: ["repo:read"] },
  ...{ created: AT },
  ...more,
});
const token = (id: string, more: Partial<StoredToken> = {}): TokenAdd => ({
  ...{ id, tenant: "acme", user: "ann", kind: "user", role: undefined, scopes: ["*"], agents: ["claude"] },
  ...{ started: "api", hash: `hash-${id}`, created: AT, expires: undefined },
  ...more,
});
const child = (session_id: string, more: Partial<StoredChild> = {}): ChildAdd => ({
  ...{ session_id, tenant: "acme", user: "ann", principal: "tok_1", parent: "session", agent: "reed" },
  ...{ chain: ["claude"], depth: 1, scopes: ["repo:read"], task: "look", hash: `hash-${session_id}` },
  ...{ created: AT, expires: EXPIRES },
  ...more,
});

const CONFLICT = expect.objectContaining({ code: "conflict" });
const MOST = 3;

let { change, query } = open();
beforeEach(() => {
  ({ change, query } = open());
  change.putUser({ user: user("ann"), at: AT, expected: 0 });
  change.addToken({ token: token("tok_1") });
});

describe("a database of identity", () => {
  test("begins with the default tenant, the operator and a key of its own", () => {
    const fresh = open().query;
    expect(fresh.tenants(null)).toMatchObject([{ id: "default" }]);
    expect(fresh.users({ tenant: "default" })).toMatchObject([{ id: "operator", roles: ["admin"] }]);
    expect(fresh.hashKey(null)).toHaveLength(32);
    expect(fresh.hashKey(null)).not.toEqual(query.hashKey(null));
  });

  test("gives what is newer than a version, and to a first reader nothing that is gone", () => {
    const { version } = query.since({ version: 0 });
    const { users } = change.putUser({ user: user("bob"), at: AT, expected: 0 });
    expect(users.map(({ id }) => id)).toEqual(["bob"]);
    change.revokeToken({ tenant: "acme", id: "tok_1", at: LATER });
    const newer = query.since({ version });
    expect(newer).toMatchObject({ after: version, version: version + 2 });
    expect(newer.users.map(({ id }) => id)).toEqual(["bob"]);
    expect(newer.tokens).toMatchObject([{ id: "tok_1", revoked: LATER }]);
    expect(query.since({ version: 0 }).tokens).toEqual([]);
  });
});

describe("a user", () => {
  test("is changed only from the version that was read", () => {
    const { changed = 0 } = query.user({ tenant: "acme", id: "ann" }) ?? {};
    change.putUser({ user: user("ann", { name: "Ann" }), at: AT, expected: changed });
    expect(() => change.putUser({ user: user("ann"), at: AT, expected: changed })).toThrow(CONFLICT);
    expect(() => change.removeUser({ tenant: "acme", id: "ann", at: AT, expected: changed })).toThrow(
      CONFLICT,
    );
    expect(query.user({ tenant: "acme", id: "ann" })).toMatchObject({ name: "Ann", removed: undefined });
  });

  test("of one tenant is no user of another", () => {
    change.putUser({ user: user("ann", { tenant: "other", name: "Another" }), at: AT, expected: 0 });
    expect(query.user({ tenant: "acme", id: "ann" })).toMatchObject({ name: "ann" });
    expect(query.users({ tenant: "other" })).toMatchObject([{ name: "Another" }]);
  });

  test("that is removed takes its tokens and sub-agents with it, and no others", () => {
    change.putUser({ user: user("bob"), at: AT, expected: 0 });
    change.addToken({ token: token("tok_2", { user: "bob" }) });
    change.addChild({ child: child("c1"), most: MOST });
    change.addChild({ child: child("c2", { user: "bob", principal: "tok_2" }), most: MOST });
    const { changed = 0 } = query.user({ tenant: "acme", id: "ann" }) ?? {};
    const gone = change.removeUser({ tenant: "acme", id: "ann", at: LATER, expected: changed });
    expect(gone.users).toMatchObject([{ id: "ann", removed: LATER }]);
    expect(gone.tokens).toMatchObject([{ id: "tok_1", revoked: LATER }]);
    expect(gone.children).toMatchObject([{ session_id: "c1", revoked: LATER }]);
    expect(query.users({ tenant: "acme" }).map(({ id }) => id)).toEqual(["bob"]);
    expect(query.children({ tenant: "acme", at: AT })).toMatchObject([{ session_id: "c2" }]);
  });

  test("that was removed gets no token, and comes back without the former ones", () => {
    const { changed = 0 } = query.user({ tenant: "acme", id: "ann" }) ?? {};
    const removed = change.removeUser({ tenant: "acme", id: "ann", at: LATER, expected: changed });
    expect(() => change.addToken({ token: token("tok_2") })).toThrow(CONFLICT);
    change.putUser({ user: user("ann"), at: LATER, expected: removed.version });
    expect(query.user({ tenant: "acme", id: "ann" })).toMatchObject({ removed: undefined });
    expect(query.token({ tenant: undefined, id: "tok_1" })).toMatchObject({ revoked: LATER });
  });
});

describe("a tenant", () => {
  test("that is removed ends all in it, once, and returns with its next user", () => {
    change.addChild({ child: child("c1"), most: MOST });
    const gone = change.removeTenant({ tenant: "acme", at: LATER });
    expect([gone.users, gone.tokens, gone.children].map(({ length }) => length)).toEqual([1, 1, 1]);
    expect(() => change.removeTenant({ tenant: "acme", at: LATER })).toThrow(CONFLICT);
    expect(query.tenants(null).map(({ id }) => id)).toEqual(["default"]);
    expect(query.everyTenant(null).toSorted()).toEqual(["acme", "default"]);
    change.putUser({ user: user("eve"), at: LATER, expected: 0 });
    expect(query.tenants(null)).toMatchObject([{ id: "acme", created: LATER }, { id: "default" }]);
    expect(query.users({ tenant: "acme" }).map(({ id }) => id)).toEqual(["eve"]);
  });
});

describe("a token", () => {
  test("is found in its own tenant, or by its id alone", () => {
    expect(query.token({ tenant: "other", id: "tok_1" })).toBeUndefined();
    expect(query.token({ tenant: "acme", id: "tok_1" })).toMatchObject({ agents: ["claude"] });
    expect(query.token({ tenant: undefined, id: "tok_1" })).toMatchObject({
      role: undefined,
      expires: undefined,
    });
  });

  test("is revoked once, in its own tenant alone, with the sub-agents begun with it", () => {
    change.addToken({ token: token("tok_2") });
    change.addChild({ child: child("c1"), most: MOST });
    change.addChild({ child: child("c2", { principal: "tok_2" }), most: MOST });
    expect(() => change.revokeToken({ tenant: "other", id: "tok_1", at: LATER })).toThrow(CONFLICT);
    const { children } = change.revokeToken({ tenant: "acme", id: "tok_1", at: LATER });
    expect(children.map(({ session_id }) => session_id)).toEqual(["c1"]);
    expect(() => change.revokeToken({ tenant: "acme", id: "tok_1", at: LATER })).toThrow(CONFLICT);
  });

  test("of a kind and a start that are not known counts as an agent's, begun by an agent", () => {
    const odd = { kind: "robot", started: "cron" } as unknown as Partial<StoredToken>;
    change.addToken({ token: token("tok_9", odd) });
    expect(query.token({ tenant: undefined, id: "tok_9" })).toMatchObject({
      kind: "agent",
      started: "sub-agent",
    });
  });
});

describe("a sub-agent", () => {
  test("needs a user, a token and a parent that are valid", () => {
    expect(() => change.addChild({ child: child("x", { user: "bob" }), most: MOST })).toThrow(CONFLICT);
    expect(() => change.addChild({ child: child("x", { principal: "tok_9" }), most: MOST })).toThrow(
      CONFLICT,
    );
    change.addChild({ child: child("c1"), most: MOST });
    change.revokeSession({ tenant: "acme", session: "c1", principal: undefined, at: LATER });
    expect(() => change.addChild({ child: child("c2", { parent: "c1" }), most: MOST })).toThrow(CONFLICT);
    change.addChild({ child: child("c3", { principal: LOCAL }), most: MOST });
    change.revokeToken({ tenant: "acme", id: "tok_1", at: LATER });
    expect(() => change.addChild({ child: child("c4"), most: MOST })).toThrow(CONFLICT);
  });

  test("is one of a bounded number, of which expired ones do not count", () => {
    change.addChild({ child: child("c1", { expires: LATER }), most: 2 });
    change.addChild({ child: child("c2"), most: 2 });
    expect(() => change.addChild({ child: child("c3"), most: 2 })).toThrow("2 sub-agents already");
    change.addChild({ child: child("c3", { created: LATER }), most: 2 });
    const left = query.children({ tenant: "acme", at: AT }).map(({ session_id }) => session_id);
    expect(left).toEqual(["c3", "c2"]);
  });

  test("ends with every session above it, of its own principal and tenant alone", () => {
    change.addToken({ token: token("tok_2") });
    change.addChild({ child: child("c1"), most: 9 });
    change.addChild({ child: child("c2", { parent: "c1" }), most: 9 });
    change.addChild({ child: child("c3", { parent: "c2" }), most: 9 });
    change.addChild({ child: child("d1", { principal: "tok_2" }), most: 9 });
    const of = (session: string, more: { principal?: string; tenant?: string } = {}) =>
      query.reach({ tenant: "acme", session, principal: undefined, at: AT, ...more });
    expect([of("session"), of("c1"), of("c3"), of("none")]).toEqual([4, 3, 1, 0]);
    expect([of("session", { principal: "tok_2" }), of("session", { tenant: "other" })]).toEqual([1, 0]);
    change.revokeSession({ tenant: "acme", session: "c1", principal: "tok_2", at: LATER });
    expect(of("c1")).toBe(3);
    const { children } = change.revokeSession({
      tenant: "acme",
      session: "session",
      principal: "tok_1",
      at: LATER,
    });
    expect(children.map(({ session_id }) => session_id).toSorted()).toEqual(["c1", "c2", "c3"]);
    expect([of("session"), query.children({ tenant: "acme", at: AT }).length]).toEqual([1, 1]);
  });
});
