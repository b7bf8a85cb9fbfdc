import { describe, expect, test } from "vitest";
import { isHttpServer, otherMembers, readServer } from "./server-entry.ts";

describe("the declaration of a server", () => {
  test("is read as ACP has it, and what ACP does not know is kept", () => {
    const stdio = { name: "a", command: "x", args: ["1"], env: [{ name: "K", value: "v" }], _meta: { n: 1 } };
    expect(readServer(stdio)).toEqual(stdio);
    expect(otherMembers(readServer(stdio))).toEqual({ name: "a", _meta: { n: 1 } });
    const web = { type: "sse", name: "b", url: "https://x.example/sse", headers: [], future: true };
    const read = readServer(web);
    expect(read).toEqual(web);
    expect(isHttpServer(read)).toBe(true);
    expect(readServer({ name: "c", command: "x" })).toMatchObject({ args: [], env: [] });
  });

  test.each([
    null,
    "npx server",
    { name: "a" },
    { name: "", command: "x" },
    { type: "acp", name: "a", serverId: "s" },
    { type: "http", name: "a", url: "javascript:alert(1)" },
    { type: "http", name: "a", url: "not a url" },
    { type: "http", name: "a", url: "https://x.example", headers: [{ name: "a b", value: "v" }] },
    { type: "http", name: "a", url: "https://x.example", headers: [{ name: "a", value: "v\r\nb: c" }] },
    { name: "a\u200b", command: "x" },
  ])("is refused where it is none: %j", (declared) => {
    expect(() => readServer(declared)).toThrow(expect.objectContaining({ code: "invalid_server" }));
  });
});
