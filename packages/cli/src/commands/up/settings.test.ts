import { describe, expect, it } from "vitest";
import { resolveHaakSettings, resolveUpSettings } from "./settings.ts";

describe("the settings of reins up", () => {
  it("have defaults", () => {
    expect(resolveUpSettings({}, { XDG_DATA_HOME: "/data" })).toEqual({
      host: "127.0.0.1",
      port: 18789,
      home: "/data/reins",
      tokens: [],
      allowHosts: [],
      tls: { cert: undefined, key: undefined },
      workspaces: [],
      tenants: {},
      placement: {},
      cluster: undefined,
      database: undefined,
      policyFiles: {},
      auth: "token",
      oidc: [],
      quotas: undefined,
      runner: { backend: "native", ttlMs: 1_800_000, preloadStanding: false, heartbeatMs: 300_000 },
      native: { idle: {}, patience: {}, presence: {}, prices: {} },
    });
  });

  const environment = { REINS_HOST: "::1", REINS_PORT: "1", REINS_HOME: "/from/env", REINS_TOKEN: "env" };

  it("come from the environment, else from the defaults", () => {
    expect(resolveUpSettings({}, environment)).toMatchObject({
      host: "::1",
      port: 1,
      home: "/from/env",
      tokens: ["env"],
    });
  });

  it("come from flags, else from the environment", () => {
    const flags = { host: "localhost", port: "0", home: "/from/flag", token: ["one", "two"] };
    expect(resolveUpSettings(flags, environment)).toMatchObject({
      host: "localhost",
      port: 0,
      home: "/from/flag",
      tokens: ["one", "two"],
    });
  });

  it("come from reins.yaml only after flags and environment", () => {
    const file = { host: "::1", port: 2, allow_hosts: ["reins.example"], workspaces: ["/srv"] };
    expect(resolveUpSettings({}, {}, file)).toMatchObject({
      host: "::1",
      port: 2,
      allowHosts: ["reins.example"],
      workspaces: ["/srv"],
    });
    expect(
      resolveUpSettings({ port: "0", workspace: ["/w"] }, { REINS_HOST: "localhost" }, file),
    ).toMatchObject({
      host: "localhost",
      port: 0,
      workspaces: ["/w"],
    });
    const beside = resolveUpSettings({ home: "/homes/one" }, {}, { workspaces: ["../work"] });
    expect(beside.workspaces).toEqual(["/homes/work"]);
  });

  it("treat an empty variable as unset", () => {
    const names = [
      "HOST",
      "PORT",
      "HOME",
      "TOKEN",
      "DB",
      "POLICY",
      "CONSTITUTION",
      "TTL",
      "PRELOAD_STANDING",
    ];
    const unset = Object.fromEntries([...names, "HEARTBEAT_INTERVAL"].map((name) => [`REINS_${name}`, ""]));
    const empty = { ...unset, XDG_DATA_HOME: "/data" };
    expect(resolveUpSettings({}, empty)).toEqual(resolveUpSettings({}, { XDG_DATA_HOME: "/data" }));
  });

  it("resolve the database and the constitution, relative to the home in reins.yaml", () => {
    const file = { db: "data/r.db", policy: "rules.yaml", constitution: "/etc/prose.md" };
    const environment = { REINS_HOME: "/h" };
    expect(resolveUpSettings({}, environment, file)).toMatchObject({
      database: "/h/data/r.db",
      policyFiles: { rules: "/h/rules.yaml", prose: "/etc/prose.md" },
    });
    const said = {
      ...environment,
      REINS_DB: "/env.db",
      REINS_POLICY: "/env.yaml",
      REINS_CONSTITUTION: "/env.md",
    };
    expect(resolveUpSettings({ policy: "/flag.yaml" }, said, file)).toMatchObject({
      database: "/env.db",
      policyFiles: { rules: "/flag.yaml", prose: "/env.md" },
    });
    expect(resolveUpSettings({ db: "/flag.db" }, said, file).database).toBe("/flag.db");
  });

  it("resolve the certificate and its key separately", () => {
    const file = { tls: { cert: "tls/cert.pem", key: "/etc/key.pem" } };
    expect(resolveUpSettings({}, { REINS_HOME: "/h" }, file).tls).toEqual({
      cert: { path: "/h/tls/cert.pem", from: "tls.cert in reins.yaml" },
      key: { path: "/etc/key.pem", from: "tls.key in reins.yaml" },
    });
    expect(resolveUpSettings({ tlsCert: "/flag.pem" }, { REINS_HOME: "/h" }, file).tls).toEqual({
      cert: { path: "/flag.pem", from: "--tls-cert" },
      key: { path: "/etc/key.pem", from: "tls.key in reins.yaml" },
    });
  });

  it("allow access without a token only on loopback", () => {
    const file = { ws: { auth: "none", backend: "claude" } } as const;
    expect(resolveUpSettings({}, {}, file)).toMatchObject({ auth: "none", runner: { backend: "claude" } });
    const native = { patience: 5, most_load: 2, may_spend: false, prices: {} };
    expect(resolveUpSettings({}, {}, { native }).native).toMatchObject({
      ...{ patience: { mostMs: 5_000 }, idle: { mostLoad: 2 }, presence: { maySpend: false } },
    });
    expect(() => resolveUpSettings({ host: "0.0.0.0" }, {}, file)).toThrow("only allowed on this machine");
  });

  it("name the source of a bad port", () => {
    expect(() => resolveUpSettings({}, { REINS_PORT: "http" })).toThrow(
      'REINS_PORT is "http", which is not a port.',
    );
    expect(() => resolveUpSettings({ port: "65536" }, {})).toThrow('--port is "65536", which is not a port.');
    expect(() => resolveUpSettings({ port: "-1" }, {})).toThrow("--port");
    expect(() => resolveUpSettings({ port: "1e3" }, {})).toThrow("--port");
  });
});

describe("the settings of sessions", () => {
  const file = { ttl: 5, preload_standing: true, heartbeat_interval: 60 };
  const environment = {
    REINS_TTL: "10",
    REINS_PRELOAD_STANDING: "no",
    REINS_HEARTBEAT_INTERVAL: "120",
  };

  it("come from flags, then the environment, then the file", () => {
    expect(resolveHaakSettings({}, {}, file)).toMatchObject({
      ttlMs: 300_000,
      preloadStanding: true,
      heartbeatMs: 60_000,
    });
    expect(resolveHaakSettings({}, environment, file)).toMatchObject({
      ttlMs: 600_000,
      preloadStanding: false,
      heartbeatMs: 120_000,
    });
    const flags = { ttl: "0.5", preloadStanding: true, heartbeatInterval: "1", heartbeat: true };
    expect(resolveHaakSettings(flags, environment, file)).toMatchObject({
      ttlMs: 30_000,
      preloadStanding: true,
      heartbeatMs: 1_000,
    });
  });

  it("has no heartbeat after --no-heartbeat or 0", () => {
    expect(resolveHaakSettings({ heartbeat: false }, environment, file).heartbeatMs).toBe(0);
    expect(resolveHaakSettings({}, { REINS_HEARTBEAT_INTERVAL: "0" }, file).heartbeatMs).toBe(0);
    expect(resolveHaakSettings({}, {}, { heartbeat_interval: 0 }).heartbeatMs).toBe(0);
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
  ])("reject %j with %j", (flags, environment, message) => {
    expect(() => resolveHaakSettings(flags, environment, {})).toThrow(message);
  });
});
