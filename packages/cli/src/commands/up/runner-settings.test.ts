import { describe, expect, it } from "vitest";
import { settleRunner } from "./runner-settings.ts";

describe("how sessions are kept", () => {
  const file = { ttl: 5, preload_standing: true, heartbeat_interval: 60 };
  const environment = {
    REINS_TTL: "10",
    REINS_PRELOAD_STANDING: "no",
    REINS_HEARTBEAT_INTERVAL: "120",
  };

  it("comes from flags, then the environment, then the file", () => {
    expect(settleRunner({}, {}, file)).toMatchObject({
      ttlMs: 300_000,
      preloadStanding: true,
      heartbeatMs: 60_000,
    });
    expect(settleRunner({}, environment, file)).toMatchObject({
      ttlMs: 600_000,
      preloadStanding: false,
      heartbeatMs: 120_000,
    });
    const flags = { ttl: "0.5", preloadStanding: true, heartbeatInterval: "1", heartbeat: true };
    expect(settleRunner(flags, environment, file)).toMatchObject({
      ttlMs: 30_000,
      preloadStanding: true,
      heartbeatMs: 1_000,
    });
  });

  it("has no heartbeat where somebody says so", () => {
    expect(settleRunner({ heartbeat: false }, environment, file).heartbeatMs).toBe(0);
    expect(settleRunner({}, { REINS_HEARTBEAT_INTERVAL: "0" }, file).heartbeatMs).toBe(0);
    expect(settleRunner({}, {}, { heartbeat_interval: 0 }).heartbeatMs).toBe(0);
  });

  it.each([
    [{ ttl: "soon" }, {}, '--ttl is "soon", which is not a number of minutes.'],
    [{ ttl: "0" }, {}, "--ttl"],
    [{ ttl: "-3" }, {}, "--ttl"],
    [{}, { REINS_TTL: "1e3" }, "REINS_TTL"],
    [{ heartbeatInterval: "5m" }, {}, '--heartbeat-interval is "5m", which is not a number of seconds.'],
    [{}, { REINS_HEARTBEAT_INTERVAL: "99999999" }, "REINS_HEARTBEAT_INTERVAL"],
    [{}, { REINS_PRELOAD_STANDING: "maybe" }, "neither true nor false"],
    [{ heartbeat: false, heartbeatInterval: "5" }, {}, "contradict"],
  ])("is refused as %j with %j", (flags, environment, message) => {
    expect(() => settleRunner(flags, environment, {})).toThrow(message);
  });
});
