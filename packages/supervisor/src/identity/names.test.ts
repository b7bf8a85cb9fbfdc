import { expect, test } from "vitest";
import { agentFor } from "./authority.ts";
import { AgentName, Name, Roles, read, SessionName } from "./names.ts";

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
