import { describe, expect, it } from "vitest";
import { settleUp } from "./settings.ts";

describe("the settings of reins up", () => {
  it("have defaults that work", () => {
    expect(settleUp({}, { XDG_DATA_HOME: "/data" })).toEqual({
      host: "127.0.0.1",
      port: 18789,
      home: "/data/reins",
      tokens: [],
      allowHosts: [],
      workspaces: [],
    });
  });

  const environment = { REINS_HOST: "::1", REINS_PORT: "1", REINS_HOME: "/from/env", REINS_TOKEN: "env" };

  it("come from the environment before the defaults", () => {
    expect(settleUp({}, environment)).toMatchObject({
      host: "::1",
      port: 1,
      home: "/from/env",
      tokens: ["env"],
    });
  });

  it("come from flags before the environment", () => {
    const flags = { host: "localhost", port: "0", home: "/from/flag", token: ["one", "two"] };
    expect(settleUp(flags, environment)).toMatchObject({
      host: "localhost",
      port: 0,
      home: "/from/flag",
      tokens: ["one", "two"],
    });
  });

  it("come from reins.yaml before the defaults, and from everything else before it", () => {
    const file = { host: "::1", port: 2, allow_hosts: ["reins.example"], workspaces: ["/srv"] };
    expect(settleUp({}, {}, file)).toMatchObject({
      host: "::1",
      port: 2,
      allowHosts: ["reins.example"],
      workspaces: ["/srv"],
    });
    expect(settleUp({ port: "0", workspace: ["/w"] }, { REINS_HOST: "localhost" }, file)).toMatchObject({
      host: "localhost",
      port: 0,
      workspaces: ["/w"],
    });
  });

  it("take an empty variable for none", () => {
    const empty = { REINS_HOST: "", REINS_PORT: "", REINS_HOME: "", REINS_TOKEN: "", XDG_DATA_HOME: "/data" };
    expect(settleUp({}, empty)).toEqual(settleUp({}, { XDG_DATA_HOME: "/data" }));
  });

  it("name the source of a bad port", () => {
    expect(() => settleUp({}, { REINS_PORT: "http" })).toThrow('REINS_PORT is "http", which is no port.');
    expect(() => settleUp({ port: "65536" }, {})).toThrow('--port is "65536", which is no port.');
    expect(() => settleUp({ port: "-1" }, {})).toThrow("--port");
    expect(() => settleUp({ port: "1e3" }, {})).toThrow("--port");
  });
});
