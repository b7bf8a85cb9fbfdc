import { expect, test } from "vitest";
import { normalHost, parseHostRule, ruleFor } from "./host-rules.ts";

const passes = (host: string, port: number, ...rules: string[]) =>
  ruleFor(normalHost(host) ?? "", port, rules.map(parseHostRule)) !== undefined;

test("a name stands for itself, at the usual ports", () => {
  expect(passes("api.example.com", 443, "api.example.com")).toBe(true);
  expect(passes("API.Example.COM.", 80, "api.example.com")).toBe(true);
  expect(passes("api.example.com", 22, "api.example.com")).toBe(false);
  expect(passes("evil.api.example.com", 443, "api.example.com")).toBe(false);
  expect(passes("api.example.com.evil.net", 443, "api.example.com")).toBe(false);
});

test("a suffix stands for what is below it, and nothing beside", () => {
  expect(passes("a.b.example.com", 443, "*.example.com")).toBe(true);
  expect(passes("example.com", 443, "*.example.com")).toBe(false);
  expect(passes("notexample.com", 443, "*.example.com")).toBe(false);
});

test("ports can be named, or all of them meant", () => {
  expect(passes("example.com", 8443, "example.com:8443")).toBe(true);
  expect(passes("example.com", 443, "example.com:8443")).toBe(false);
  expect(passes("example.com", 22, "example.com:*")).toBe(true);
  expect(passes("anything.at.all", 443, "*")).toBe(true);
  expect(passes("anything.at.all", 25, "*")).toBe(false);
});

test("an address is compared in its one usual form", () => {
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
