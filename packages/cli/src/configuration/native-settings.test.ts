import { expect, it } from "vitest";
import { nativeSettings } from "./native-settings.ts";

it("says nothing where the operator says nothing, so that the defaults count", () => {
  expect(nativeSettings({})).toEqual({ idle: {}, patience: {}, presence: {}, prices: {} });
});

it("says what the operator says, in the host's words", () => {
  const quiet_hours = { from: 22, to: 7 };
  const prices = { "claude-x": { input: 3, output: 15, cache_read: 0.3 } };
  expect(nativeSettings({ quiet_hours, most_load: 0.5, patience: 300, may_spend: true, prices })).toEqual({
    idle: { quietHours: quiet_hours, mostLoad: 0.5 },
    patience: { mostMs: 300_000 },
    presence: { maySpend: true },
    prices: { "claude-x": { input: 3, output: 15, cacheRead: 0.3, cacheWrite: undefined } },
  });
});
