import type { Token } from "@reins/api";
import { expect, it } from "vitest";
import { expiryOf, isValid } from "./token.ts";

const NOW = new Date("2026-11-15T05:20:00Z");
const token: Token = {
  id: "tok_1",
  user: "ann",
  tenant: "acme",
  kind: "user",
  scopes: [],
  agents: [],
  started: "api",
  created: "2026-11-01T00:00:00.000Z",
};

it.each([
  [{}, true, "never"],
  [{ expires: "2026-11-16T05:20:00.000Z" }, true, "in 1d"],
  [{ expires: "2026-11-15T05:20:00.000Z" }, false, "expired"],
  [{ expires: "2026-11-16T05:20:00.000Z", revoked: "2026-11-14T00:00:00.000Z" }, false, "revoked"],
])("a token with %j is valid: %s, and expires %s", (given, valid, end) => {
  expect([isValid({ ...token, ...given }, NOW), expiryOf({ ...token, ...given }, NOW)]).toEqual([valid, end]);
});
