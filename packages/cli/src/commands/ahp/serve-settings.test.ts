import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { resolveServerOptions, resolveServeTargets, type ServeFlags } from "./serve-settings.ts";

const handlers = "handlers.ts";
const places = (flags: Partial<ServeFlags>, environment = {}) =>
  resolveServeTargets({ handlers, ...flags }, environment);

describe("where to serve", () => {
  it("is stdio alone, or any of the others", () => {
    expect(places({ stdio: true })).toEqual({ stdio: true, web: undefined, unix: undefined });
    expect(places({ unix: "a.sock" })).toEqual({ stdio: false, web: undefined, unix: resolve("a.sock") });
    expect(() => places({})).toThrow("No transport to serve is given");
    expect(() => places({ stdio: true, ws: true })).toThrow("cannot be combined");
    expect(() => places({ stdio: true, unix: "x" })).toThrow("cannot be combined");
  });

  it("has defaults for HTTP and WebSocket, which share a port", () => {
    expect(places({ http: true, ws: true }).web).toMatchObject({
      host: "127.0.0.1",
      port: 18789,
      path: "/ahp",
      protocols: ["http", "websocket"],
      tokens: [],
    });
    expect(places({ ws: true }).web?.protocols).toEqual(["websocket"]);
  });

  it("takes what flags and environment say", () => {
    const flags = { http: true, host: "localhost", port: "0", path: "/harness", allowHost: ["console"] };
    expect(places(flags, { REINS_TOKEN: "secret" }).web).toMatchObject({
      host: "localhost",
      port: 0,
      path: "/harness",
      tokens: ["secret"],
      allowHosts: ["console"],
    });
  });

  it("refuses what cannot be", () => {
    expect(() => places({ http: true, port: "x" })).toThrow("not a port");
    expect(() => places({ http: true, path: "ahp" })).toThrow("--path");
    expect(() => places({ http: true, tlsCert: "cert.pem" })).toThrow("a certificate and its key");
    const tls = { tlsCert: import.meta.filename, tlsKey: import.meta.filename };
    expect(() => places({ http: true, ...tls })).toThrow("The certificate or its key cannot be used");
    expect(() => places({ unix: "a.sock", allowHost: ["x"], port: "1" })).toThrow("use --port, --allow-host");
    expect(() => places({ http: true, tlsCert: "/no/cert", tlsKey: "/no/key" })).toThrow(
      "--tls-cert cannot be read",
    );
  });
});

describe("how to serve", () => {
  it("has the protocol's defaults", () => {
    expect(resolveServerOptions({ handlers })).toEqual({
      config: { timeout_ms: 10_000, batch_size: 100, max_depth: 10 },
      compat: false,
      requireHandshake: false,
    });
  });

  it("takes what flags say", () => {
    const flags = { name: "mine", requireHandshake: true, deadlineMs: "5", maxDepth: "0", batchSize: "1" };
    expect(resolveServerOptions({ handlers, ...flags })).toEqual({
      config: { timeout_ms: 5, batch_size: 1, max_depth: 0 },
      compat: false,
      requireHandshake: true,
      info: { name: "mine" },
    });
  });

  it("refuses what cannot be", () => {
    expect(() => resolveServerOptions({ handlers, compat: true, deadlineMs: "5" })).toThrow("--compat");
    expect(() => resolveServerOptions({ handlers, deadlineMs: "0" })).toThrow("--deadline-ms");
    expect(() => resolveServerOptions({ handlers, maxDepth: "deep" })).toThrow("--max-depth");
  });
});
