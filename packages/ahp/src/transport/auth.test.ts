import { describe, expect, test } from "vitest";
import {
  asSubprotocol,
  authHeaders,
  credentialInHeaders,
  credentialInQuery,
  credentialInSubprotocols,
  credentialOf,
  knownTokens,
  originFault,
} from "./auth.ts";

const request = (headers: Record<string, string>, url = "/ahp") => ({ headers, url });

describe("credentials", () => {
  test("come as a bearer token or an API key in headers", () => {
    expect(credentialInHeaders(request({ authorization: "bearer  abc" }))).toEqual({
      kind: "bearer",
      value: "abc",
    });
    expect(credentialInHeaders(request({ "x-api-key": "k" }))).toEqual({ kind: "api_key", value: "k" });
    expect(credentialInHeaders(request({ authorization: "Basic abc" }))).toBeUndefined();
    expect(credentialInHeaders(request({}))).toBeUndefined();
  });

  test("survive being a subprotocol, whatever is in them", () => {
    for (const kind of ["bearer", "api_key"] as const) {
      const credential = { kind, value: "a b&c, ü/=" };
      const headers = { "sec-websocket-protocol": `ahp, ${asSubprotocol(credential)}` };
      expect(credentialInSubprotocols(request(headers))).toEqual(credential);
    }
    expect(credentialInSubprotocols(request({ "sec-websocket-protocol": "ahp" }))).toBeUndefined();
  });

  test("come in the URL as upstream's clients write them", () => {
    const url = "/ahp?existing=1&token=token+with+space%26symbols";
    expect(credentialInQuery(request({}, url))).toEqual({
      kind: "bearer",
      value: "token with space&symbols",
    });
    expect(credentialInQuery(request({}, "/ahp?api_key=k"))).toEqual({ kind: "api_key", value: "k" });
    expect(credentialInQuery(request({}))).toBeUndefined();
  });

  test("that no header can hold are refused before anything is sent", () => {
    expect(() => authHeaders({ kind: "bearer", value: "a\nb" })).toThrow(
      "Authentication failed: Invalid bearer token",
    );
    expect(() => authHeaders({ kind: "api_key", value: "a\u0000" })).toThrow(
      "Authentication failed: Invalid API key",
    );
  });
});

describe("authentication methods", () => {
  test("that are not implemented are rejected, not ignored", () => {
    const tls = { type: "mutual_tls", cert_path: "c", key_path: "k", ca_path: null } as const;
    const oauth = { type: "o_auth", client_id: "i", client_secret: "s", token_url: "u" } as const;
    expect(() => credentialOf({ method: tls })).toThrow("Capability not supported: mutual TLS");
    expect(() => credentialOf({ method: oauth })).toThrow("Capability not supported: OAuth");
  });

  test("none is no credential", () => {
    expect(credentialOf(undefined)).toBeUndefined();
    expect(credentialOf({ method: { type: "none" } })).toBeUndefined();
  });
});

test("a known secret has a principal, any other has none", () => {
  const authenticate = knownTokens([
    { principal: "ann", secret: "one" },
    { principal: "bob", secret: "two" },
  ]);
  expect(authenticate({ kind: "bearer", value: "two" })).toBe("bob");
  expect(authenticate({ kind: "api_key", value: "one" })).toBe("ann");
  expect(authenticate({ kind: "bearer", value: "tw" })).toBeUndefined();
  expect(authenticate({ kind: "bearer", value: "" })).toBeUndefined();
  expect(authenticate(undefined)).toBeUndefined();
});

describe("origins", () => {
  const rules = { allowedHosts: ["harness.example"], allowedOrigins: ["https://console.example"] };

  test.each([
    { host: "127.0.0.1:18789" },
    { host: "LOCALHOST:1" },
    { host: "[::1]:1" },
    { host: "harness.example" },
    { host: "localhost:1", origin: "http://localhost:1" },
    { host: "localhost:1", origin: "https://console.example" },
    {},
  ])("%o may speak", (headers) => {
    expect(originFault(request(headers), rules)).toBeUndefined();
  });

  test.each([
    { host: "rebound.example" },
    { host: "localhost.evil.example" },
    { host: "localhost:1", origin: "https://evil.example" },
    { host: "localhost:1", origin: "null" },
    { host: "localhost:1", origin: "http://localhost:2" },
  ])("%o may not", (headers) => {
    expect(originFault(request(headers), rules)).toBeTypeOf("string");
  });
});
