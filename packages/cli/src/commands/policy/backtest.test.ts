import { expect, it } from "vitest";
import { backtestSettings } from "./backtest.ts";

const now = new Date("2026-11-15T08:00:00Z");

it("reads the flags of a backtest", () => {
  expect(backtestSettings({ examples: "3" }, now)).toEqual({
    range: { since: undefined, limit: undefined },
    tenant: "default",
    examples: 3,
    failOn: "nothing",
  });
  const flags = { examples: "0", since: "2h", limit: "10", tenant: "acme", failOn: "looser" };
  expect(backtestSettings(flags, now)).toEqual({
    range: { since: "2026-11-15T06:00:00.000Z", limit: 10 },
    tenant: "acme",
    examples: 0,
    failOn: "looser",
  });
});

it.each([
  [{ examples: "some" }, "--examples"],
  [{ examples: "3", limit: "0" }, "--limit"],
  [{ examples: "3", failOn: "all" }, "--fail-on"],
  [{ examples: "3", since: "then" }, "--since"],
])("%j is a mistake", (flags, flag) => {
  expect(() => backtestSettings(flags, now)).toThrow(flag);
});
