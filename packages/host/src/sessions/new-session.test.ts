import { blake3Hex } from "@reins/ledger";
import type { Principal } from "@reins/supervisor";
import { expect, test } from "vitest";
import { newSessionRecord } from "./new-session.ts";

const local: Principal = {
  ...{ id: "t1", kind: "user", user: "ann", tenant: "default", roles: [], scopes: [], agents: [] },
  started: "interactive",
};
const created = new Date("2026-01-02T03:04:05.678Z");
const made = { agent: "native", acts_as: "reed", channel: "ws", peer: "p", created, cwd: "/w", key: "k" };

test("an id follows from agent, key and moment", () => {
  const { id } = newSessionRecord({ ...made, principal: local });
  expect(id).toBe(blake3Hex(`reed:k:${created.toISOString()}`));
});

test("tenants that use the same key at the same moment have sessions of different ids", () => {
  const tenants = ["default", "acme", "other"];
  const ids = tenants.map((tenant) => newSessionRecord({ ...made, principal: { ...local, tenant } }).id);
  expect(new Set(ids).size).toBe(tenants.length);
});
