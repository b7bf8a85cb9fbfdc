import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import {
  AgentName,
  isSameHash,
  isSecret,
  Name,
  newSecret,
  Roles,
  read,
  SecretHash,
  SessionName,
} from "./names.ts";
import { agentFor } from "./subjects.ts";

const TAKEN = Object.getOwnPropertyNames(Object.prototype);

test.each(TAKEN)("%s names no user, tenant, role, agent or session", (name) => {
  for (const schema of [Name, AgentName, SessionName])
    expect(() => read(schema, name)).toThrow(/^it (is a name that every object has|has to be 1 to 128)/);
  expect(() => read(Roles, [name])).toThrow(/^0 /);
  const principal = { id: "t", kind: "agent", user: "u", tenant: "default", roles: [], scopes: [] } as const;
  expect(agentFor({ ...principal, agents: ["*"], started: "api" }, name)).toBe(`unverified:${name}`);
});

test("names that only resemble those are taken", () => {
  for (const name of ["proto", "Constructor", "to-string", "prototype"])
    for (const schema of [Name, AgentName, SessionName]) expect(read(schema, name)).toBe(name);
});

test("a secret is a prefix and 43 random characters", () => {
  const secret = newSecret(randomBytes);
  expect(secret).toMatch(/^reins_[A-Za-z0-9_-]{43}$/);
  expect(isSecret(secret)).toBe(true);
  expect(newSecret(randomBytes)).not.toBe(secret);
  expect(newSecret((size) => new Uint8Array(size))).toBe(`reins_${"A".repeat(43)}`);
});

test.each([
  ["nothing", ""],
  ["the mark alone", "reins_"],
  ["one character too few", `reins_${"a".repeat(42)}`],
  ["one too many", `reins_${"a".repeat(44)}`],
  ["a line end behind it", `reins_${"a".repeat(43)}\n`],
  ["a character of another alphabet", `reins_${"a".repeat(42)}é`],
  ["another mark", `Reins_${"a".repeat(43)}`],
])("%s is no secret", (_, text) => {
  expect(isSecret(text)).toBe(false);
});

test("a hash depends on the secret, on the key and on what the secret is for", () => {
  const [one, other] = [new SecretHash(randomBytes(32)), new SecretHash(randomBytes(32))];
  const secret = newSecret(randomBytes);
  expect(one.ofToken(secret)).toBe(one.ofToken(secret));
  const hashes = [one.ofToken(secret), one.ofSession(secret), one.ofTask(secret), other.ofToken(secret)];
  expect(new Set(hashes).size).toBe(4);
  for (const hash of hashes) expect(hash).toMatch(/^[0-9a-f]{64}$/);
});

test("hashes are the same only as a whole", () => {
  const hash = new SecretHash(randomBytes(32)).ofToken("x");
  expect(isSameHash(hash, hash)).toBe(true);
  expect(isSameHash(hash, hash.slice(0, -1))).toBe(false);
  expect(
    isSameHash(
      hash,
      hash.replace(/.$/, (last) => (last === "0" ? "1" : "0")),
    ),
  ).toBe(false);
});
