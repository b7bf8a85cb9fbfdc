import { expect, test } from "vitest";
import { addressScope, normalHost, parseHostRule, ruleFor } from "./host-proxy.ts";

const passes = (host: string, port: number, ...rules: string[]) =>
  ruleFor(normalHost(host) ?? "", port, rules.map(parseHostRule)) !== undefined;

test("matches a name exactly, on ports 80 and 443", () => {
  expect(passes("api.example.com", 443, "api.example.com")).toBe(true);
  expect(passes("API.Example.COM.", 80, "api.example.com")).toBe(true);
  expect(passes("api.example.com", 22, "api.example.com")).toBe(false);
  expect(passes("evil.api.example.com", 443, "api.example.com")).toBe(false);
  expect(passes("api.example.com.evil.net", 443, "api.example.com")).toBe(false);
});

test("matches subdomains of a suffix, and not the suffix itself", () => {
  expect(passes("a.b.example.com", 443, "*.example.com")).toBe(true);
  expect(passes("example.com", 443, "*.example.com")).toBe(false);
  expect(passes("notexample.com", 443, "*.example.com")).toBe(false);
});

test("matches a named port, or all ports", () => {
  expect(passes("example.com", 8443, "example.com:8443")).toBe(true);
  expect(passes("example.com", 443, "example.com:8443")).toBe(false);
  expect(passes("example.com", 22, "example.com:*")).toBe(true);
  expect(passes("anything.at.all", 443, "*")).toBe(true);
  expect(passes("anything.at.all", 25, "*")).toBe(false);
});

test("compares addresses in canonical form", () => {
  for (const spelling of ["127.0.0.1", "127.1", "2130706433", "0x7f.0.0.1", "0177.0.0.1"])
    expect(normalHost(spelling)).toBe("127.0.0.1");
  expect(passes("[0:0::1]", 8080, "[::1]:8080")).toBe(true);
});

test.each([
  "",
  "*.",
  "**",
  "a b",
  "http://example.com",
  "example.com/",
  "user@example.com",
  "example.com:0",
  "example.com:70000",
  "*.127.0.0.1",
  "*.0.1",
  "ex*mple.com",
  "a:b:c",
])("%j names no host", (text) => {
  expect(() => parseHostRule(text)).toThrow(expect.objectContaining({ code: "invalid_host" }));
});

test.each([
  [
    "local",
    [
      "127.0.0.1",
      "127.8.8.8",
      "0.0.0.0",
      "169.254.169.254",
      "::1",
      "::",
      "fe80::1",
      "::ffff:127.0.0.1",
      "224.0.0.1",
    ],
  ],
  [
    "private",
    ["10.1.2.3", "192.168.0.1", "172.31.0.1", "100.64.0.1", "fd00::1", "::ffff:10.0.0.1", "64:ff9b::7f00:1"],
  ],
  ["public", ["1.1.1.1", "172.32.0.1", "2606:4700::1111", "::ffff:1.1.1.1"]],
] as const)("%s", (scope, addresses) => {
  for (const address of addresses) expect([address, addressScope(address)]).toEqual([address, scope]);
});
