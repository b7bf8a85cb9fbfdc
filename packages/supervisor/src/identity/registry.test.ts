import fc from "fast-check";
import { expect, test } from "vitest";
import { Directory } from "./registry.ts";
import type { Delta } from "./tables/tables.ts";
import type { StoredToken } from "./tokens.ts";
import type { StoredUser } from "./users.ts";

const NOW = "2026-11-15T05:20:00.000Z";

const user = (changed: number, removed?: string): StoredUser => ({
  id: "ann",
  tenant: "acme",
  name: "Ann",
  email: "ann@example.com",
  roles: ["admin", "dev"],
  scopes: ["a", "b"],
  created: NOW,
  removed,
  changed,
});
const token = (changed: number, revoked?: string): StoredToken => ({
  id: "tok_1",
  user: "ann",
  tenant: "acme",
  kind: "user",
  role: undefined,
  scopes: ["*"],
  agents: [],
  started: "api",
  created: NOW,
  expires: undefined,
  revoked,
  hash: "00",
  changed,
});
const delta = (version: number, rows: Partial<Delta>): Delta => ({
  after: version - 1,
  version,
  users: [],
  tokens: [],
  children: [],
  ...rows,
});

test("in whatever order changes arrive, and however often, what was revoked stays revoked", () => {
  const changes = [
    delta(1, { users: [user(1)] }),
    delta(2, { tokens: [token(2)] }),
    delta(3, { users: [user(3, NOW)], tokens: [token(3, NOW)] }),
    delta(4, { users: [user(4)] }),
  ];
  const arrivals = fc
    .shuffledSubarray([...changes, ...changes], { minLength: 4 })
    .filter((arrived) => changes.every((change) => arrived.includes(change)));
  fc.assert(
    fc.property(arrivals, (arrived) => {
      const directory = new Directory();
      for (const change of arrived) directory.apply(change, NOW);
      expect(directory.principal("tok_1", NOW)).toBeUndefined();
      expect(directory.principalWithHash("00", NOW)).toBeUndefined();
    }),
  );
});

test("the version grows only without a gap, so that what is missing is asked for", () => {
  const directory = new Directory();
  directory.apply(delta(2, {}), NOW);
  expect(directory.version).toBe(0);
  directory.apply(delta(1, {}), NOW);
  expect(directory.version).toBe(1);
  directory.apply({ ...delta(5, {}), after: 1 }, NOW);
  expect(directory.version).toBe(5);
});

test("a token acts in the one role it names, for as long as its user has it", () => {
  const directory = new Directory();
  directory.apply(delta(1, { users: [user(1)], tokens: [{ ...token(1), role: "admin" }] }), NOW);
  expect(directory.principal("tok_1", NOW)?.roles).toEqual(["admin"]);
  directory.apply(delta(2, { users: [{ ...user(2), roles: ["dev"] }] }), NOW);
  expect(directory.principal("tok_1", NOW)?.roles).toEqual([]);
});

test("a token of a removed user has no principal", () => {
  const directory = new Directory();
  directory.apply(delta(1, { tokens: [token(1)] }), NOW);
  expect(directory.principal("tok_1", NOW)).toBeUndefined();
  directory.apply(delta(2, { users: [user(2)] }), NOW);
  expect(directory.principal("tok_1", NOW)).toBeDefined();
  directory.apply(delta(3, { users: [user(3, NOW)] }), NOW);
  expect(directory.principal("tok_1", NOW)).toBeUndefined();
});
