import { describe, expect, test } from "vitest";
import { claimsIn, covers, type FileEffect, payloadOfClaim } from "./claims.ts";

describe("an update claims", () => {
  test("a write by a diff, whatever its kind", () => {
    const content = [{ type: "diff", path: "/w/a", newText: "" }];
    for (const kind of ["read", "edit", undefined])
      expect(claimsIn({ content, kind })).toEqual([{ kind: "write", path: "/w/a" }]);
  });

  test.each([
    ["edit", "write"],
    ["delete", "write"],
    ["move", "write"],
    ["read", "read"],
    ["execute", "read"],
    [undefined, "read"],
  ] as const)("by the locations of a call of kind %s a %s", (kind, claimed) => {
    expect(claimsIn({ locations: [{ path: "/w/a" }], kind })).toEqual([{ kind: claimed, path: "/w/a" }]);
  });

  test("a command by a terminal", () => {
    const content = [{ type: "terminal", terminalId: "t" }];
    expect(claimsIn({ content })).toEqual([{ kind: "exec", terminal: "t" }]);
  });

  test.each([
    ["a link", { type: "resource_link", uri: "file:///w/a%20b" }],
    ["an embedded file", { type: "resource", resource: { uri: "file:///w/a%20b", text: "" } }],
    ["an address in capitals", { type: "resource_link", uri: " FILE:///w/a%20b" }],
  ])("a read by %s", (_, content) => {
    expect(claimsIn({ content: [{ type: "content", content }] })).toEqual([{ kind: "read", path: "/w/a b" }]);
  });

  test("a read by an address that cannot be parsed", () => {
    const content = { type: "resource_link", uri: "file://%zz/etc/passwd" };
    expect(claimsIn({ content: [{ type: "content", content }] })).toEqual([
      { kind: "read", path: "/%zz/etc/passwd" },
    ]);
  });

  test.each([
    ["an address of the web", { content: [{ type: "content", content: { uri: "https://a.example" } }] }],
    ["text", { content: [{ type: "content", content: { type: "text", text: "/etc/passwd" } }] }],
    ["a location without a path", { locations: [{}, { path: "" }, { path: 1 }, null] }],
    ["members that are no lists", { content: "x", locations: {} }],
  ])("nothing by %s", (_, update) => {
    expect(claimsIn(update)).toEqual([]);
  });
});

describe("a verdict on a file", () => {
  const effect = (kind: FileEffect["kind"], path: string, deep?: true): FileEffect => ({
    kind,
    path,
    place: "workspace",
    ...(deep && { deep }),
  });

  test("covers the same access to the same path, and reading what may be written", () => {
    expect(covers(effect("read", "/w/a"), effect("read", "/w/a"))).toBe(true);
    expect(covers(effect("write", "/w/a"), effect("read", "/w/a"))).toBe(true);
  });

  test("covers no writing where it was about reading, and no other path", () => {
    expect(covers(effect("read", "/w/a"), effect("write", "/w/a"))).toBe(false);
    expect(covers(effect("write", "/w/a"), effect("write", "/w/ab"))).toBe(false);
    expect(covers(effect("write", "/w"), effect("write", "/w/a"))).toBe(false);
  });

  test("covers what is below a folder only where it was about all of it", () => {
    expect(covers(effect("write", "/w", true), effect("write", "/w/a/b"))).toBe(true);
    expect(covers(effect("write", "/w", true), effect("write", "/wx"))).toBe(false);
    expect(covers(effect("write", "/w/a", true), effect("write", "/w"))).toBe(false);
    expect(covers(effect("write", "/w", true), effect("write", "/w/..x"))).toBe(true);
  });
});

test("a claim is decided as the call that it would have been", () => {
  expect(payloadOfClaim({ kind: "read", path: "/a" })).toEqual({
    tool_name: "fs/read_text_file",
    arguments: { path: "/a" },
  });
  expect(payloadOfClaim({ kind: "write", path: "/a" }).tool_name).toBe("fs/write_text_file");
  expect(payloadOfClaim({ kind: "exec", terminal: "t" })).toEqual({
    tool_name: "terminal/create",
    arguments: { terminal: "t" },
  });
});
