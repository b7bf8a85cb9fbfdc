import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { readInputs } from "../../../test/read-inputs.ts";
import { resolveServerOptions, resolveServeTargets, SERVE_INPUTS } from "./serve-settings.ts";

const places = (flags: Parameters<typeof resolveServeTargets>[0], environment = {}) =>
  resolveServeTargets(flags, environment);

describe("where to serve", () => {
  it("is stdio alone, or any of the others", () => {
    expect(places({ stdio: true })).toEqual({ stdio: true, web: undefined, unix: undefined });
    expect(places({ unix: "/a.sock" })).toEqual({ stdio: false, web: undefined, unix: "/a.sock" });
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
    const flags = { http: true, host: "localhost", port: 0, path: "/harness", allowHost: ["console"] };
    expect(places(flags, { REINS_TOKEN: "secret" }).web).toMatchObject({
      host: "localhost",
      port: 0,
      path: "/harness",
      tokens: ["secret"],
      allowHosts: ["console"],
    });
  });

  it("rejects contradicting flags", () => {
    expect(() => places({ http: true, tlsCert: "cert.pem" })).toThrow("a certificate and its key");
    const tls = { tlsCert: import.meta.filename, tlsKey: import.meta.filename };
    expect(() => places({ http: true, ...tls })).toThrow("The certificate or its key cannot be used");
    expect(() => places({ unix: "a.sock", allowHost: ["x"], port: 1 })).toThrow("use --port, --allow-host");
    expect(() => places({ http: true, tlsCert: "/no/cert", tlsKey: "/no/key" })).toThrow(
      "--tls-cert cannot be read",
    );
  });
});

describe("the flags", () => {
  it("are read as what they mean", async () => {
    const flags = await readInputs(SERVE_INPUTS, "--unix", "a.sock", "--port", "0", "--max-depth", "0");
    expect(flags).toMatchObject({ unix: resolve("a.sock"), port: 0, maxDepth: 0 });
  });

  it.each([
    ["--port", "x", "not a port"],
    ["--path", "ahp", "--path"],
    ["--deadline-ms", "0", "--deadline-ms"],
    ["--max-depth", "deep", "--max-depth"],
  ])("reject %s %s", async (flag, text, message) => {
    await expect(readInputs(SERVE_INPUTS, flag, text)).rejects.toThrow(message);
  });
});

describe("how to serve", () => {
  it("has the protocol's defaults", () => {
    expect(resolveServerOptions({})).toEqual({
      config: { timeout_ms: 10_000, batch_size: 100, max_depth: 10 },
      compat: false,
      requireHandshake: false,
    });
  });

  it("takes what flags say", () => {
    const flags = { name: "mine", requireHandshake: true, deadlineMs: 5, maxDepth: 0, batchSize: 1 };
    expect(resolveServerOptions(flags)).toEqual({
      config: { timeout_ms: 5, batch_size: 1, max_depth: 0 },
      compat: false,
      requireHandshake: true,
      info: { name: "mine" },
    });
  });

  it("rejects a timeout that has no effect", () => {
    expect(() => resolveServerOptions({ compat: true, deadlineMs: 5 })).toThrow("--compat");
  });
});
